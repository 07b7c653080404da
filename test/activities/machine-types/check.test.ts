import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { createMachineTypeActivities } from '../../../activities/machine-types/machine-types.ts';
import { StatusReports } from '../../../activities/operations/status-reports.ts';
import type { ResourceVersions } from '../../../decisions/lib/resource-versions.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { aTransition } from '../../decisions/machine-types/snapshots.ts';
import { anOperation } from '../../decisions/operations/operations.ts';

const workflowIdOf = (): string => 'run';

test('objects that were read when the operation began are not read again: the caches must be as new', async () => {
  const asked: (string | ResourceVersions)[] = [];
  const listed = (name: string): object => ({
    version: 0n,
    values: () => [],
    relist: () => Promise.resolve(asked.push(name)),
  });
  const caches = Object.fromEntries(
    ['pools', 'vms', 'vmis', 'nodes', 'operations'].map((name) => [name, listed(name)]),
  );
  const cache = {
    ...caches,
    operations: { ...caches['operations'], hasReached: () => false },
    catchUp: (minVersions: ResourceVersions) => Promise.resolve(asked.push(minVersions)),
    versionsOf: () => ({}),
    isDelegated: () => false,
    subscribe: () => () => {},
  };
  const operation = anOperation({ action: 'MachineType', machineType: { from: '*' } }, { uid: 'op', name: 'op' });
  const client = {
    create: () => Promise.resolve({ status: { allowed: true } }),
    get: () => Promise.resolve(operation),
  };
  const reports = new StatusReports({ client: client as unknown as KubeClient, workflowIdOf });
  const options = { client, cache: cache as unknown as ClusterCache, workflowIdOf, reports };
  const { preflightTransition } = createMachineTypeActivities(
    options as unknown as Parameters<typeof createMachineTypeActivities>[0],
  );
  const minVersions = { pools: '5', vms: '6', vmis: '7' };
  const ref = { namespace: 'shop', name: 'op', uid: 'op' };
  const environment = new MockActivityEnvironment({ workflowExecution: { workflowId: 'run', runId: '1' } });
  await environment.run(preflightTransition, { operation: ref, transition: aTransition(), results: [], minVersions });
  expect(asked).toEqual([minVersions]);
});
