import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { ActsOfWaves } from '../../../activities/disruption/acts-of-waves.ts';
import { StatusReports } from '../../../activities/operations/status-reports.ts';
import { createPowerActivities, type PowerActivityOptions } from '../../../activities/power/power.ts';
import { namespacedName } from '../../../decisions/disruption-budget/restart-budget.ts';
import { newTally } from '../../../decisions/power/progress.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { aVm, aVmi } from '../../decisions/fixtures/fleets.ts';
import { anOperation } from '../../decisions/operations/operations.ts';

test('an observation stays small, however many VMs there are and however long their names', async () => {
  const vms = Array.from({ length: 500 }, (_, index) =>
    aVm(`${index}`.padStart(63, 'n'), { optedOut: true, owner: null }),
  );
  const byKey = new Map(vms.map((vm) => [namespacedName(vm), vm]));
  const cache = {
    vms: { get: (key: string) => byKey.get(key) },
    operations: { hasReached: () => false },
    vmiOf: aVmi,
    lost: new AbortController().signal,
    isDelegated: () => false,
    catchUp: () => Promise.resolve({}),
    subscribe: () => () => {},
    versionsOf: () => ({ vms: '1' }),
  } as unknown as ClusterCache;
  const chosen = new Map(vms.map((vm) => [namespacedName(vm), aVmi(vm).uid]));
  const operation = anOperation({}, { uid: 'op', name: 'op' });
  const client = { get: () => Promise.resolve(operation) } as unknown as KubeClient;
  const options = {
    client,
    cache,
    workflowIdOf: () => 'run',
    reports: new StatusReports({ client, workflowIdOf: () => 'run' }),
    chosenVms: { ofThisRun: () => Promise.resolve({ count: chosen.size, targets: chosen, indexOf: () => 0 }) },
    claims: { leave: () => {} },
    acts: new ActsOfWaves(4),
    stopping: new AbortController().signal,
  };
  const { changePower } = createPowerActivities(options as unknown as PowerActivityOptions);
  const pace = {
    operation: { namespace: 'shop', name: 'op', uid: 'op' },
    action: 'Restart' as const,
    inProgress: [],
    minVersions: {},
    ...newTally(),
    deadlineMs: 1,
    requestedBy: 'ann',
    reason: null,
    reportMs: 0,
    idledMs: 0,
  };
  const look = await new MockActivityEnvironment({ workflowExecution: { workflowId: 'run', runId: '1' } }).run(
    changePower,
    { ...pace, digest: null },
  );
  expect(look).toMatchObject({ isOver: true, skipped: [{ count: 500 }] });
  expect(JSON.stringify(look).length).toBeLessThan(4_000);
});
