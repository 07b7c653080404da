import { expect, test } from 'vitest';
import type { Begun } from '../../../activities/disruption/method.ts';
import type { Updated, UpdateRequest } from '../../../activities/rollout/update-request.ts';
import type { UpdateAct } from '../../../decisions/owners/batch.ts';
import { taskQueueOf, updateBatchIdOf } from '../../../workflows/lib/messages.ts';
import type { updateBatch, UpdateBatchInput } from '../../../workflows/rollout/update-batch.ts';
import { aTimeSkippingServer } from '../time-skipping.ts';

const server = aTimeSkippingServer();

const ACTS: Record<string, UpdateAct> = { 'web-1': 'live', 'web-2': 'replace', 'web-3': 'replace' };

test('each VM of a batch keeps the time at which it was begun, though others are begun beside it', async () => {
  const ref = server().newPool();
  const looks: Pick<UpdateRequest, 'vms' | 'begun'>[] = [];
  const none = { minVersions: {} };
  let since = 0;
  server().serve({
    removeVms: () => Promise.resolve({ outcomes: [], ...none }),
    awaitRemoval: () => Promise.resolve({}),
    createVms: () => Promise.resolve({ notWanted: [], nameConflicts: [], refused: null, ...none }),
    // The first look at a VM begins it, and the third finds it updated.
    updateVms: ({ vms, begun }: UpdateRequest): Promise<Updated> => {
      looks.push({ vms, begun });
      const seen = (name: string): number => looks.filter((look) => look.vms.some((vm) => vm.name === name)).length;
      const done = vms.filter(({ name }) => seen(name) > 2);
      const known = new Map(begun.map((one) => [one.vm, one]));
      const going = vms.filter((vm) => !done.includes(vm));
      return Promise.resolve({
        outcomes: done.map(({ name: vm }) => ({ vm, end: 'Updated' })),
        begun: going.map(({ name: vm }): Begun => known.get(vm) ?? { vm, since: ++since }),
        ...none,
      });
    },
  });
  const vms = Object.entries(ACTS).map(([name, act]) => ({ name, uid: name, act, from: null, wasDown: false }));
  const input: UpdateBatchInput = {
    ref,
    key: { namespace: ref.namespace, name: ref.name, uid: 'pool-uid' },
    batch: { n: 1, revision: 'two', rollout: 'two', vms, startedAt: 0 },
    requestedBy: null,
    reason: 'update',
    minReadyMs: 0,
    deadlineMs: 60_000,
    mayFail: null,
    ...none,
  };
  const workflowId = updateBatchIdOf(ref, 'two', 1);
  await server().client.workflow.execute<typeof updateBatch>('updateBatch', {
    workflowId,
    taskQueue: taskQueueOf('default'),
    args: [input],
  });
  for (const name of Object.keys(ACTS)) {
    const [first, ...later] = looks.filter((look) => look.vms.some((vm) => vm.name === name));
    expect(first?.begun.map(({ vm }) => vm)).not.toContain(name);
    const times = later.map((look) => look.begun.find(({ vm }) => vm === name)?.since);
    expect(times).toHaveLength(2);
    expect(times[0]).toBeDefined();
    expect(new Set(times).size).toBe(1);
  }
});
