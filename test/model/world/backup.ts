import type { KubeObject, Stored } from '../../../api/objects.ts';
import {
  ControllerRevisions,
  DataVolumes,
  PersistentVolumeClaims,
  VirtualMachineInstanceReplicaSets,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import { NAMESPACE } from './names.ts';
import type { World } from './world.ts';

/** Kinds in the order in which backup tools put them back: claims first, then by their names. */
const OWNERS = [VirtualMachineInstanceReplicaSets, VirtualMachinePools, VirtualMachineReplicaSets];
const KINDS: readonly Resource[] = [
  PersistentVolumeClaims,
  ControllerRevisions,
  DataVolumes,
  ...OWNERS,
  VirtualMachines,
];
/** KubeVirt's plugins leave out what a VM makes again. */
const LEFT_OUT: readonly Resource[] = [VirtualMachineInstances];

export type Backup = ReadonlyMap<Resource, readonly KubeObject[]>;

/** Saves a namespace as backup tools do: what is put back has no owner, no UID, no finalizers and no status. */
export function backUp(world: World): Backup {
  world.say('-- the namespace is backed up');
  return new Map(KINDS.map((kind) => [kind, world.server.all(kind).filter(isThere).map(saved)]));
}

const saved = ({ metadata, status: _status, ...object }: Stored): KubeObject => {
  const { name, labels, annotations } = metadata;
  return {
    ...object,
    metadata: {
      name,
      namespace: NAMESPACE,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
  };
};

const isThere = ({ metadata }: Stored): boolean =>
  metadata.namespace === NAMESPACE && metadata.deletionTimestamp === undefined;

/** Deletes all of it at once, whatever holds it. */
export async function lose(world: World): Promise<void> {
  world.say('-- the namespace is lost');
  const { client } = world.people;
  for (const kind of [
    ...OWNERS,
    VirtualMachines,
    ...LEFT_OUT,
    DataVolumes,
    ControllerRevisions,
    PersistentVolumeClaims,
  ])
    for (const { metadata } of world.server.all(kind)) {
      const at = { namespace: NAMESPACE, name: metadata.name };
      await client.patch(kind, at, 'merge', { metadata: { finalizers: null } }).catch(() => {});
      await client.delete(kind, at, { propagationPolicy: 'Background' }).catch(() => {});
      await client.patch(kind, at, 'merge', { metadata: { finalizers: null } }).catch(() => {});
    }
}

/**
 * Puts it back, object by object with a pause after each kind; what is there already stays as it is. `vmsFirst`: VMs
 * before their pools.
 */
export async function putBack(
  world: World,
  backup: Backup,
  how: { vmsFirst: boolean; pauseMs: number },
): Promise<void> {
  world.say(`-- the backup is restored, ${how.vmsFirst ? 'VMs' : 'pools'} first`);
  const kinds = how.vmsFirst ? [...KINDS.filter((kind) => !OWNERS.includes(kind)), ...OWNERS] : KINDS;
  for (const kind of kinds) {
    for (const object of backup.get(kind) ?? []) await world.people.client.create(kind, object).catch(() => {});
    await world.wait(how.pauseMs);
  }
}
