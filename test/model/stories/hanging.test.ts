import '../world/real-code.ts';
import { test } from 'vitest';
import type { VmOwnerKind } from '../../../api/owner-kinds.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import { aSpec } from '../pools.ts';
import { aSetSpec } from '../sets.ts';
import { NAMESPACE } from '../world/names.ts';
import { type World } from '../world/world.ts';
import { play } from './story.ts';

const MINUTE_MS = 60_000;
const HOLD = 'shop.example/hold';
const BURST = 3;
const COUNT = 12;

const KINDS: [VmOwnerKind, object][] = [
  ['VirtualMachinePool', aSpec({ replicas: COUNT })],
  ['VirtualMachineReplicaSet', aSetSpec('VirtualMachineReplicaSet', COUNT)],
];

/**
 * Creates an owner of VMs, most of which another client holds back with a finalizer. Returns the names of the others.
 */
async function withHeldVms(world: World, kind: VmOwnerKind, spec: object): Promise<string[]> {
  await world.people.createOwner(kind, 'web', spec);
  const { uid } = world.owner(kind, 'web')!.metadata;
  await world.until(() => world.membersOf(kind, uid).length === COUNT, MINUTE_MS);
  await world.wait(10_000);
  const [others, held] = [world.membersOf(kind, uid).slice(0, 4), world.membersOf(kind, uid).slice(4)];
  for (const { metadata } of held)
    await world.people.client.patch(VirtualMachines, { namespace: NAMESPACE, name: metadata.name }, 'merge', {
      metadata: { finalizers: [...(metadata.finalizers ?? []), HOLD] },
    });
  return others.map(({ metadata }) => metadata.name);
}

const progressOf = (world: World, kind: VmOwnerKind): string | undefined =>
  (
    world.owner(kind, 'web')?.['status'] as { conditions?: { type: string; message?: string }[] } | undefined
  )?.conditions?.find(({ type }) => type === 'Progressing')?.message;

/** Checks that these VMs go although so many others do not, and that the status tells how many wait. */
async function othersGo(world: World, kind: VmOwnerKind, others: readonly string[]): Promise<void> {
  if (!(await world.until(() => /\d+ more waits? to be deleted/.test(progressOf(world, kind) ?? ''), MINUTE_MS)))
    world.break(`G12: nothing tells how many VMs wait: ${progressOf(world, kind)}`);
  const isDone = (): boolean =>
    others.every((name) => world.vm(name) === undefined) &&
    world.server.all(VirtualMachines).every(({ metadata }) => metadata.deletionTimestamp !== undefined);
  if (!(await world.until(isDone, 12 * MINUTE_MS)))
    world.break(`G12: ${world.server.all(VirtualMachines).length} VMs are left, and nothing goes on`);
}

test.each(KINDS)('VMs that something holds back do not hold up the rest of a %s that is deleted', (kind, spec) =>
  play(
    async (world) => {
      const others = await withHeldVms(world, kind, spec);
      await world.people.deleteOwner(kind, 'web', false);
      await othersGo(world, kind, others);
    },
    { burst: BURST, owners: KINDS.map(([one]) => one) },
  ),
);

test.each(KINDS)('VMs that hang do not hold up the rest of a %s that is scaled in', (kind, spec) =>
  play(
    async (world) => {
      const others = await withHeldVms(world, kind, spec);
      await world.people.changeOwner(kind, 'web', { replicas: 0 });
      await othersGo(world, kind, others);
    },
    { burst: BURST, owners: KINDS.map(([one]) => one) },
  ),
);
