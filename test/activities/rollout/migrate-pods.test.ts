import { expect, test } from 'vitest';
import { DO_NOT_DISRUPT_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { VirtualMachineInstanceMigrations, VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import type { UpdateOutcome } from '../../../decisions/owners/batch.ts';
import type { Migration } from '../../../simulator/objects/kubevirt.ts';
import { keyOf, targetOf, World } from '../forged/world.ts';

type Given = ReturnType<World['withOldPod']>;

/** Has a worker migrate the VM of a pool, so often in a row. `change`: what has happened since the plan. */
async function migrated(
  { spec = {}, times = 1 }: { spec?: Partial<PoolSpec>; times?: number } = {},
  change: (world: World, given: Given) => void = () => {},
): Promise<{ outcomes: UpdateOutcome[]; made: string[] }> {
  const world = new World();
  const given = world.withOldPod(spec);
  const { pool, vm, vmi, to } = given;
  const migration = { vmi: vmi.metadata.uid, attempt: 1 };
  change(world, given);
  await world.start();
  const vms = [{ ...targetOf(vm), act: 'migrate', from: to, wasDown: false, migration }];
  const batch = { key: keyOf(pool), revision: to, n: 1, rollout: to, vms, startedAt: 0, minVersions: {} };
  // No KubeVirt migrates it: it is late at once.
  const request = { ...batch, begun: [], minReadyMs: 0, deadlineMs: 1, mayFail: null };
  for (let time = 0; time < times; time++) await world.written('updateVms', [request]);
  expect(world.failure).toBeUndefined();
  return {
    outcomes: (world.answer as { outcomes: UpdateOutcome[] }).outcomes,
    made: world.server.all(VirtualMachineInstanceMigrations).map(({ metadata }) => metadata.name),
  };
}

test('a VM whose pod lacks something is migrated once, however often that is tried', async () => {
  const { outcomes, made } = await migrated({ times: 3 });
  expect(outcomes).toMatchObject([
    { end: 'Failed', message: 'not ready in time: its migration has not ended (Pending)' },
  ]);
  expect(made).toEqual([expect.stringMatching(/^update-.*-1$/)]);
});

test.each<[what: string, spec: Partial<PoolSpec>, change: (world: World, given: Given) => void, why: string]>([
  [
    'its pool migrates VMs no more',
    { updateStrategy: { proactive: { outdatedPods: 'Report' } } },
    () => {},
    'it no longer needs a migration',
  ],
  [
    'it can not be migrated any more',
    {},
    (world, { vmi }) =>
      void world.server.write(VirtualMachineInstances, vmi.metadata, (before) => ({
        ...before,
        status: { ...(before as { status?: object }).status, conditions: [{ type: 'Ready', status: 'True' }] },
      })),
    'it no longer needs a migration',
  ],
  [
    'its owner opted out of disruption',
    {},
    (world, { vm }) =>
      void world.server.write(VirtualMachines, vm.metadata, (before) => ({
        ...before,
        metadata: {
          ...before.metadata,
          annotations: { ...before.metadata.annotations, [DO_NOT_DISRUPT_ANNOTATION]: 'true' },
        },
      })),
    'its owner opted out of disruption',
  ],
  [
    'somebody else migrates it',
    {},
    (world, { vmi: { metadata } }) => void world.server.create(VirtualMachineInstanceMigrations, theirs(metadata)),
    expect.stringMatching(/^its migration theirs, made at .*, is Pending$/) as string,
  ],
])('a VM is given back if %s', async (_what, spec, change, why) => {
  const { outcomes, made } = await migrated({ spec }, change);
  expect(outcomes).toMatchObject([{ vm: 'web-1', end: 'Deferred', message: why }]);
  expect(made.filter((name) => name.startsWith('update-'))).toEqual([]);
});

const theirs = ({
  namespace,
  name,
}: {
  namespace?: string;
  name: string;
}): Omit<Migration, 'metadata'> & {
  metadata: { namespace: string; name: string; labels: Record<string, string> };
} => ({
  metadata: { namespace: namespace!, name: 'theirs', labels: { 'kubevirt.io/vmi-name': name } },
  spec: { vmiName: name },
});
