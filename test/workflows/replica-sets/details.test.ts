import { expect, test } from 'vitest';
import type { ReplicaSetKey } from '../../../activities/replica-sets/replica-set-request.ts';
import { planVmiSet } from '../../../decisions/replica-sets/plan.ts';
import { replicaSetDetails } from '../../../workflows/replica-sets/details.ts';
import { aFailedStart, anInstanceSet, calm } from '../../decisions/replica-sets/sets.ts';
import { namesOf } from '../../decisions/replica-sets/steps.ts';

const [A, B, C] = namesOf(3) as [string, string, string];
const key: ReplicaSetKey = {
  kind: 'VirtualMachineInstanceReplicaSet',
  namespace: 'shop',
  name: 'web',
  uid: 'set-uid',
};

test('the Web UI shows the state of a set of VMIs, why starts fail, in words that Markdown does not read, and what is done', () => {
  const failed = { ...aFailedStart(A, 12_000), whyNotReady: '# no <b>kernel</b> at `/boot/*`' };
  const set = anInstanceSet({ replicas: 2 });
  const { starts } = planVmiSet({ ...calm, set, now: 10_000, vmis: [aFailedStart(A, 10_000)] });
  const plan = planVmiSet({ ...calm, set, now: 13_000, vmis: [failed], starts, uncertain: [C] });
  const planned = {
    gone: false,
    key,
    generation: 1,
    minVersions: {},
    writes: 0,
    written: {},
    isRecorded: true,
    clockAheadMs: 0,
    ...plan,
  } as const;
  const failures = {
    state: { byReason: {}, recentErrors: [{ time: 'noon', reason: 'FailedCreate', message: 'no *quota*' }] },
    retryAt: 20_000,
  };
  expect(replicaSetDetails(planned, [`delete ${B}`], failures as never).split('\n\n')).toEqual([
    '**ScalingOut**: 2 wanted, 1 present, 0 ready',
    expect.stringMatching(
      String.raw`^${A} ended before it had come up \(\\# no \\<b\\>kernel\\</b\\> at \\.*/boot/\\\*\\.*\), as others did 2 times in a row: `,
    ),
    `Not known whether they were made: ${C}`,
    'Next try at 1970-01-01T00:00:20.000Z',
    '- noon FailedCreate: no \\*quota\\*',
    `- delete ${B}`,
    'VMIs: 1 Failed',
  ]);
  expect(replicaSetDetails({ gone: true }, [], failures as never)).toBe('The set is deleted.');
});
