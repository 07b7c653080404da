import type { Condition, Stored } from '../../../api/objects.ts';
import type { SetKind } from '../../../api/owner-kinds.ts';
import { isActive, isGoing } from '../facts.ts';
import type { SetHappening } from '../random/happenings.ts';
import type { SetScenario } from '../random/scenarios.ts';
import { aSetSpec, SETS, setTemplate, type SetSpec } from '../sets.ts';
import type { World } from '../world/world.ts';

const HOUR_MS = 3_600_000;

type ReplicaSet = Stored & {
  spec: SetSpec;
  status?: { replicas?: number; readyReplicas?: number; conditions?: Condition[] };
};

const setOf = (world: World, kind: SetKind): ReplicaSet | undefined =>
  world.owner(kind, SETS[kind]) as ReplicaSet | undefined;

export const createSet = async (world: World, { kind, replicas, ...shape }: SetScenario): Promise<void> =>
  void (await world.people.createOwner(kind, SETS[kind], aSetSpec(kind, replicas, shape)));

/** `kinds`: those of the sets that there are. */
export async function happenToSet(world: World, kinds: readonly SetKind[], happening: SetHappening): Promise<void> {
  const kind = kinds[happening.set % kinds.length];
  const set = kind === undefined ? undefined : setOf(world, kind);
  if (kind === undefined || set === undefined) return;
  const { name, uid } = set.metadata;
  switch (happening.what) {
    case 'scale set':
      return world.people.changeOwner(kind, name, { replicas: happening.replicas ?? undefined });
    case 'pause set':
      return world.people.changeOwner(kind, name, { paused: happening.paused });
    case 'set template': {
      // VMs outlive a bad template, which only later VMs would lack.
      const failsToStart = happening.failsToStart && kind === 'VirtualMachineInstanceReplicaSet';
      return world.people.changeOwner(kind, name, { template: setTemplate(kind, { failsToStart, bootMs: 1_000 }) });
    }
    case 'renew set': {
      await world.people.deleteOwner(kind, name, happening.isOrphaned);
      const isGone = await world.until(() => setOf(world, kind) === undefined, 600_000);
      if (isGone) await world.people.createOwner(kind, name, { ...set.spec });
      else if (world.workers.some(({ process }) => process.state === 'running' && !process.isCutOff))
        world.break(`G12: set ${name} was deleted ten minutes ago, and is not gone`);
      return;
    }
    case 'relabel back':
      for (const member of world.membersOf(kind, null)) await world.people.relabel(kind, member.metadata.name, name);
      return;
    case 'relabel':
    case 'delete member':
    case 'crash member': {
      const members = world.membersOf(kind, uid);
      const member = members[happening.member % members.length]?.metadata.name;
      if (member === undefined) return;
      if (happening.what === 'relabel') return world.people.relabel(kind, member, 'debug');
      if (happening.what === 'delete member') return world.people.deleteMember(kind, member);
      return world.kubevirt.crash(member);
    }
  }
}

/** Gives each set a good template, and lets it act; `settled` tells when it matches its spec. */
export async function settleSets(world: World, kinds: readonly SetKind[]): Promise<void> {
  for (const kind of kinds) {
    const set = setOf(world, kind);
    if (set === undefined || isGoing(set)) continue;
    await world.people.changeOwner(kind, SETS[kind], { template: setTemplate(kind), paused: false });
    if (kind === 'VirtualMachineReplicaSet')
      for (const { metadata } of world.membersOf(kind, set.metadata.uid))
        await world.people.power(metadata.name, 'start');
  }
  for (const kind of kinds) {
    if (await world.until(() => isAsWanted(world, kind), HOUR_MS)) continue;
    world.break(`G12: set ${SETS[kind]} does not get as it is wanted: ${inWords(world, kind)}`);
  }
}

function isAsWanted(world: World, kind: SetKind): boolean {
  const set = setOf(world, kind);
  if (set === undefined || isGoing(set)) return set === undefined;
  const { spec, status, metadata } = set;
  const members = world.membersOf(kind, metadata.uid);
  return (
    members.length === spec.replicas &&
    members.every(isActive) &&
    status?.replicas === spec.replicas &&
    status.readyReplicas === spec.replicas
  );
}

function inWords(world: World, kind: SetKind): string {
  const set = setOf(world, kind);
  const members = set === undefined ? [] : world.membersOf(kind, set.metadata.uid);
  return JSON.stringify({
    wanted: set?.spec.replicas,
    deletedAt: set?.metadata.deletionTimestamp,
    status: set?.status,
    members: members.map(({ metadata, status }) => [
      metadata.name,
      metadata.labels,
      metadata.deletionTimestamp,
      status,
    ]),
  });
}
