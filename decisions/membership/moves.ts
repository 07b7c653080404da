import { DISKS_FINALIZER, POOL_LABEL } from '../../api/labels-and-annotations.ts';
import { controllerOf, type OwnerReference, type Stored } from '../../api/objects.ts';
import { isControlledBy } from '../../api/owner-references.ts';
import type { PoolStatus } from '../../api/pool/pool.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import type { VmWithVmi } from '../from-object/vm-with-vmi.ts';
import { vmView, type VirtualMachine } from '../from-object/vm.ts';
import { formerMemberOf } from '../views/annotations/former-member.ts';
import { kindOf } from '../views/owner-kind.ts';
import type { StoredPool } from '../views/pool.ts';
import type { ListedChange } from './change.ts';
import { strategyWithoutDrain } from './eviction-strategy.ts';
import { joining, joiningTransfer, joiningVmi } from './joining.ts';
import { asFormer } from './label-patch.ts';
import { transferPatch, type MetadataPatch } from './transfer.ts';

type Kind = ListedChange['kind'];
export type Vm = Stored<VirtualMachine>;

/** What a VM and its VMI get as they change pools: merge patches, and null for a VM that has another controller now. */
export interface MovePatches {
  vm: object | null;
  vmi: MetadataPatch;
}

/** Whether the VM is where this change wants it: the pool's own, or no longer. */
export const hasMoved = (kind: Kind, pool: StoredPool, vm: Stored): boolean =>
  kind === 'adopt' ? isOf(pool, vm) : controllerOf(vm) === undefined && formerPoolOf(vm) === pool.metadata.name;

const isOf = (pool: StoredPool, vm: Stored): boolean => isControlledBy(vm, VirtualMachinePools, pool.metadata);
const formerPoolOf = ({ metadata }: Stored): string | undefined => formerMemberOf(metadata.annotations)?.pool;

/** Says of a VM that has not moved, after its name, why it can't; null if it can. */
export function whyNotMoved(change: Pick<ListedChange, 'kind' | 'isCounted'>, pool: StoredPool, vm: Vm): string | null {
  if (change.kind === 'adopt') return whyNotAdopted(pool, vm);
  const owner = controllerOf(vm);
  return owner === undefined || isOf(pool, vm) ? whyNotDetached(vm, change) : belongsTo(owner);
}

const belongsTo = ({ kind, name }: OwnerReference): string => `belongs to ${kind} ${name}`;

/** Says of a VM, after its name, why it can't become the pool's; null if it can. */
export function whyNotAdopted(
  { metadata: { name }, status }: { metadata: { name: string }; status?: Pick<PoolStatus, 'roles'> },
  vm: Vm,
): string | null {
  const owner = controllerOf(vm);
  if (owner !== undefined) return belongsTo(owner);
  // By it, drover would take the VM for what it was.
  if (status?.roles?.some(({ uid }) => uid === vm.metadata.uid) === true)
    return `was not a replica of pool ${name}, and its status still says so: try again in a moment`;
  return vm.metadata.deletionTimestamp === undefined ? null : 'is being deleted';
}

/** Says of a VM, after its name, why it can't leave the pool that controls it; null if it can. */
export function whyNotDetached(vm: Vm, { isCounted }: Pick<ListedChange, 'isCounted'>): string | null {
  const owner = controllerOf(vm);
  if (owner === undefined) {
    const label = vm.metadata.labels?.[POOL_LABEL];
    return label === undefined
      ? 'does not belong to a pool'
      : `has no controller, and a worker will remove the labels of pool ${label}`;
  }
  const { name: pool } = owner;
  if (kindOf(owner) !== 'VirtualMachinePool') return `${belongsTo(owner)}, which is not a drover pool`;
  if (vm.metadata.deletionTimestamp !== undefined) return 'is being deleted';
  const { roleLabel, removing } = vmView(vm);
  if (roleLabel === 'Surge') return `is extra while pool ${pool} updates others, and leaves by itself`;
  if (roleLabel !== null && isCounted)
    return `is not a replica of pool ${pool}, whose number would not change: leave --decrement out`;
  return removing ? `is leaving pool ${pool}, with its disks kept` : null;
}

/** `now`: by the API server's clock, in milliseconds since the epoch. */
export function movePatches(kind: Kind, pool: StoredPool, { vm, vmi }: VmWithVmi, now: number): MovePatches {
  if (kind === 'adopt') return joinPatches(pool, { vm, vmi }, null, now);
  const { name, uid } = pool.metadata;
  const strategy = strategyWithoutDrain(pool, vm);
  const { labels, annotations } = asFormer(name, vm.metadata, strategy);
  const of = asFormer(name, vmi?.metadata ?? {});
  return {
    vm: transferPatch(vm, {
      from: uid,
      to: null,
      labels,
      annotations,
      strategy,
      finalizers: { remove: DISKS_FINALIZER },
    }),
    vmi: { labels: of.labels, annotations: of.annotations },
  };
}

/** What they get as the VM comes into the pool. `from`: UID of the controller that it has; null for none. */
export function joinPatches(pool: StoredPool, { vm, vmi }: VmWithVmi, from: string | null, now: number): MovePatches {
  const fit = joining(pool, vm, vmi);
  return { vm: transferPatch(vm, joiningTransfer(pool, fit, from, now)), vmi: joiningVmi(pool, fit) };
}
