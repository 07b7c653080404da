import { expect, test } from 'vitest';
import type { KnownStatus } from '../../../activities/owners/status.ts';
import { FailureBackoff } from '../../../workflows/owners/failure-backoff.ts';
import { InFlight } from '../../../workflows/owners/in-flight.ts';
import { Statuses } from '../../../workflows/owners/statuses.ts';

test('a workflow that knows of more writes than the status has says so until what follows is on record', () => {
  const options = { inProgress: new InFlight(), failureBackoff: new FailureBackoff(), onDue: () => {} };
  const statuses = new Statuses(options, 5);
  const saw = (writes: number, isRecorded: boolean): number | undefined => {
    statuses.saw({ writes, isRecorded, written: {}, minVersions: {} } satisfies KnownStatus);
    return statuses.known.writes;
  };
  expect([saw(7, false), saw(4, false), saw(4, true), saw(9, false)]).toEqual([7, 7, 4, 9]);
});
