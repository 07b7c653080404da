import { DISKS_FINALIZER } from '../../api/labels-and-annotations.ts';
import { controllerOf, type OwnerReference, type Stored } from '../../api/objects.ts';
import type { PoolStatus } from '../../api/pool/pool.ts';
import type { VmWithVmi } from '../from-object/vm-with-vmi.ts';
import type { VirtualMachine } from '../from-object/vm.ts';
import type { StoredPool } from '../views/pool.ts';
import { strategyWithoutDrain } from './eviction-strategy.ts';
import { joining, joiningTransfer, joiningVmi } from './joining.ts';
import { asFormer } from './label-patch.ts';
import { transferPatch, type MetadataPatch } from './transfer.ts';

export type Vm = Stored<VirtualMachine>;

/** What a VM and its VMI get as they change pools: merge patches, and null for a VM that has another controller now. */
export interface MovePatches {
  vm: ReturnType<typeof transferPatch>;
  vmi: MetadataPatch;
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

/** What they get as the VM leaves the pool, and gets no other controller. */
export function leavePatches(pool: StoredPool, { vm, vmi }: VmWithVmi): MovePatches {
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

/**
 * What they get as the VM comes into the pool. `from`: UID of the controller that it has; null for none. `now`: by the
 * API server's clock, in milliseconds since the epoch.
 */
export function joinPatches(pool: StoredPool, { vm, vmi }: VmWithVmi, from: string | null, now: number): MovePatches {
  const fit = joining(pool, vm, vmi);
  return { vm: transferPatch(vm, joiningTransfer(pool, fit, from, now)), vmi: joiningVmi(pool, fit) };
}
