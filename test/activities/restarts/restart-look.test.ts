import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { createRestartActivities, type RestartActivityOptions } from '../../../activities/restarts/restarts.ts';
import { keyOf } from '../../../decisions/disruption-budget/restart-budget.ts';
import { aVm, aVmi } from '../../decisions/model/fleets.ts';

test('what a look tells stays small, of however many VMs with however long names', async () => {
  const vms = Array.from({ length: 500 }, (_, index) =>
    aVm(`${index}`.padStart(63, 'n'), { optedOut: true, owner: null }),
  );
  const byKey = new Map(vms.map((vm) => [keyOf(vm), vm]));
  const cache = {
    vms: { get: (key: string) => byKey.get(key) },
    vmiOf: aVmi,
    lost: new AbortController().signal,
    catchUp: () => Promise.resolve(),
    subscribe: () => () => {},
    versionsOf: () => ({ vms: '1' }),
  } as unknown as ClusterCache;
  const chosen = new Map(vms.map((vm) => [keyOf(vm), aVmi(vm).uid]));
  const options = {
    cache,
    chosenVmis: { ofThisRun: () => Promise.resolve(chosen) },
    stopping: new AbortController().signal,
  };
  const { awaitRestarts } = createRestartActivities(options as unknown as RestartActivityOptions);
  const pace = {
    maxUnavailable: 1,
    inProgress: [],
    seen: {},
    failed: [],
    deadlineMs: 1,
    takes: true,
    notBefore: 0,
    quietSince: 0,
  };
  const look = await new MockActivityEnvironment().run(awaitRestarts, { ...pace, told: null });
  expect(look).toMatchObject({ isOver: true, skipped: [{ count: 500 }] });
  expect(JSON.stringify(look).length).toBeLessThan(4_000);
});
