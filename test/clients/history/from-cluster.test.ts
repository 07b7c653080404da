import { describe, expect, test } from 'vitest';
import { CHANGES_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { CoreEvents, VirtualMachineOperations, VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import type { Resource } from '../../../api/resources.ts';
import {
  actsInCluster,
  actsOfRunInCluster,
  evictionsInCluster,
  type Subject,
} from '../../../clients/history/from-cluster.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';

const eventOf = (kind: string, name: string, message: string): object => ({
  metadata: { name: `${name}.1`, creationTimestamp: '2026-01-02T03:00:00Z' },
  involvedObject: { kind, name },
  eventTime: '2026-01-02T03:04:05.000000Z',
  action: 'ScaleOut',
  reason: 'SuccessfulCreate',
  message,
  reportingInstance: 'pool/default/prod/web',
});

const operation = (name: string, vms: object, status?: object): object => ({
  metadata: { name, creationTimestamp: '2026-01-02T04:00:00Z' },
  spec: { action: 'Restart', vms, requestedBy: 'ann', reason: 'new kernel' },
  ...(status === undefined ? {} : { status }),
});

function cluster(objects: Map<Resource, object[] | Error>): { kube: KubeClient; asked: object[] } {
  const asked: object[] = [];
  const list = (resource: Resource, options: object): Promise<{ items: object[] }> => {
    asked.push(options);
    const found = objects.get(resource) ?? [];
    return found instanceof Error ? Promise.reject(found) : Promise.resolve({ items: found });
  };
  return { kube: { list } as unknown as KubeClient, asked };
}

const AT = '2026-01-01T00:00:00Z';
const LATER = '2026-01-01T00:05:00Z';

const pool: Subject = {
  resource: VirtualMachinePools,
  namespace: 'prod',
  name: 'web',
  isMember: (vm) => vm.startsWith('web-'),
};
const vm: Subject = { ...pool, resource: VirtualMachines, name: 'web-1', isMember: (name) => name === 'web-1' };

describe('the history from the cluster alone', () => {
  const { kube, asked } = cluster(
    new Map([
      [
        CoreEvents,
        [
          eventOf('VirtualMachinePool', 'web', 'Created web-1'),
          eventOf('VirtualMachine', 'web-1', 'Restarted'),
          { ...eventOf('VirtualMachinePool', 'web', 'waits for approval'), type: 'Warning', action: 'Notify' },
          eventOf('VirtualMachinePool', 'db', 'of another pool'),
          eventOf('VirtualMachine', 'db-1', 'of another VM'),
          eventOf('VirtualMachineReplicaSet', 'web', 'of another kind'),
        ],
      ],
      [
        VirtualMachineOperations,
        [
          operation('running', { names: ['web-1', 'db-1'] }),
          operation(
            'of-pool',
            { owner: { kind: 'VirtualMachinePool', name: 'web' } },
            {
              startTime: '2026-01-02T04:00:01Z',
              completionTime: '2026-01-02T04:10:00Z',
              conditions: [{ type: 'Failed', status: 'True', reason: 'VmsFailed' }],
            },
          ),
          operation('of-set', { owner: { kind: 'VirtualMachineReplicaSet', name: 'web' } }),
          operation('of-others', { names: ['db-1'] }),
        ],
      ],
    ]),
  );

  test('includes the pool and its VMs only', async () => {
    const revisions = [
      { number: 1, hash: 'abc', createdAt: AT, usedAt: AT, requestedBy: 'bob', changeCause: 'new disk' },
      { number: 2, hash: 'def', createdAt: AT, usedAt: LATER, requestedBy: 'ann', changeCause: 'undo' },
    ] as Parameters<typeof actsInCluster>[2];
    const acts = await actsInCluster(kube, pool, revisions);
    expect(
      acts.map(({ action, vms, requestedBy, end, message: why, endedAt }) => [
        action,
        vms,
        requestedBy,
        end,
        why,
        endedAt,
      ]),
    ).toEqual([
      ['create', [], null, 'Done', 'Created web-1', '2026-01-02T03:04:05.000000Z'],
      ['create', ['web-1'], null, 'Done', 'Restarted', '2026-01-02T03:04:05.000000Z'],
      ['restart', ['web-1'], 'ann', 'InProgress', 'new kernel', null],
      ['restart', [], 'ann', 'Failed', 'new kernel', '2026-01-02T04:10:00Z'],
      ['template', [], 'bob', 'Done', 'new disk', AT],
      ['template', [], null, 'Done', null, AT],
      ['template', [], 'ann', 'Done', 'undo', LATER],
    ]);
    expect(asked).toContainEqual({ namespace: 'prod', fieldSelector: 'reportingComponent=drover.dev/worker' });
  });

  test('is of one VM, if one is asked for', async () => {
    const acts = await actsInCluster(kube, vm, []);
    expect(acts.map(({ vms, message: why }) => [vms, why])).toEqual([
      [['web-1'], 'Restarted'],
      [['web-1'], 'new kernel'],
    ]);
  });

  test('leaves out what the user may not read, and nothing else', async () => {
    const refused = new KubeError(403, 'Forbidden', 'no');
    const events = [eventOf('VirtualMachine', 'web-1', 'Restarted')];
    const some = cluster(
      new Map<Resource, object[] | Error>([
        [CoreEvents, events],
        [VirtualMachineOperations, refused],
      ]),
    );
    expect(await actsInCluster(some.kube, vm, [])).toHaveLength(1);
    const broken = cluster(new Map([[CoreEvents, new KubeError(500, 'InternalError', 'broken')]]));
    await expect(actsInCluster(broken.kube, vm, [])).rejects.toThrow('broken');
  });
});

test('a VM that a drain has shut down has a row beside what workflows have recorded, and nothing else has', async () => {
  const evicted = {
    ...eventOf('VirtualMachine', 'web-1', 'shut down to leave node n1'),
    action: 'Drain',
    reason: 'Evicted',
  };
  const { kube } = cluster(new Map([[CoreEvents, [evicted, eventOf('VirtualMachine', 'web-1', 'Restarted')]]]));
  expect(await evictionsInCluster(kube, vm)).toMatchObject([
    { action: 'evict', vms: ['web-1'], end: 'Done', message: 'shut down to leave node n1' },
  ]);
});

/** A VM that these operations have changed, each by its UID. */
const changed = (name: string, ...changes: object[]): object => {
  const records = changes.map((change) => ({
    operation: 'patch-1',
    need: 'Nothing',
    at: AT,
    by: 'ann',
    edits: [],
    ...change,
  }));
  const annotations = { [CHANGES_ANNOTATION]: JSON.stringify({ changes: records }) };
  return { metadata: { namespace: 'prod', name, annotations } };
};

const CHANGED = new Map([
  [
    CoreEvents,
    [
      {
        ...eventOf('VirtualMachine', 'web-1', 'Changed'),
        action: 'Patch',
        reason: 'Patched',
        reportingInstance: 'run',
      },
    ],
  ],
  [
    VirtualMachines,
    [
      changed('web-1', { id: 'op', reason: 'new label' }, { id: 'another' }),
      changed('web-2', { id: 'op', at: LATER, kept: 'it was changed since: metadata.labels.tier' }),
      changed('web-3'),
    ],
  ],
]);

test('what an operation has changed is told by the VMs, each once', async () => {
  const { kube } = cluster(CHANGED);
  const operation = { metadata: { namespace: 'prod', name: 'patch-1', uid: 'op' }, spec: { action: 'Patch' } };
  const acts = await actsOfRunInCluster(kube, operation as StoredOperation, 'run');
  expect(acts.map(({ time, vms, end, requestedBy, message }) => [time, vms, end, requestedBy, message])).toEqual([
    [AT, ['prod/web-1'], 'Patched', 'ann', 'new label'],
    [LATER, ['prod/web-2'], 'Left', 'ann', 'it was changed since: metadata.labels.tier'],
  ]);
});

test('changes are in the history of a VM without Temporal, and in that of no pool', async () => {
  const { kube, asked } = cluster(CHANGED);
  expect(await actsInCluster(kube, pool, [])).toEqual([]);
  expect((await actsInCluster(kube, vm, [])).map(({ action, message }) => [action, message])).toContainEqual([
    'patch',
    'new label',
  ]);
  expect(asked).toContainEqual({ namespace: 'prod', metadataOnly: true, fieldSelector: 'metadata.name=web-1' });
});
