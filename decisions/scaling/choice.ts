import type { ScaleInSelectionPolicy } from '../../api/pool/pool.ts';
import { maxUnavailableOf } from '../disruption-budget/unavailability.ts';
import { isAtRest, isDown, isReady, liveVmi, type VmiOf } from '../health/availability.ts';
import { isMoving } from '../views/drained-node.ts';
import type { StoredPool } from '../views/pool.ts';
import type { RegularVm, VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { selectorRank, scaleInOrder, type OrderOptions } from './selection-order.ts';

export interface CandidatesInput {
  vmiOf: VmiOf;
  policy: ScaleInSelectionPolicy;
  /** The zone of a node; null if it is unknown. */
  zoneOf: (node: string) => string | null;
  /** All VMs of one role that stay in the pool unless chosen. */
  active: readonly VmView[];
  /** Whether a VM may be chosen at all. */
  mayLeave: (vm: VmView) => boolean;
  /** Names of VMs that are being healed: they leave before others. */
  unhealthy: ReadonlySet<string>;
  /** The revision that VMs are brought to. */
  target: string;
}

export interface ChoiceInput extends CandidatesInput {
  pool: StoredPool;
  /** All replicas that stay in the pool unless chosen. */
  active: readonly RegularVm[];
  /** How many VMs must leave. */
  excess: number;
}

/** Returns the VMs that may leave, in the order in which they do. */
export function leavingOrder(input: CandidatesInput): VmView[] {
  const { vmiOf, policy, active, mayLeave, unhealthy, target } = input;
  return scaleInOrder(active.filter(mayLeave), {
    policy,
    isUnhealthy: (vm) => unhealthy.has(vm.name),
    isAtRest: (vm) => isAtRest(vm, vmiOf(vm)),
    isMoving: (vm) => {
      const vmi = vmiOf(vm);
      return vmi !== undefined && isMoving(vmi);
    },
    isUpdated: (vm) => isUpdated(vm, vmiOf(vm), target),
    spread: spreadOf(input),
  });
}

/**
 * Returns the VMs that leave, in order. A ready VM is not chosen if that would leave more VMs down than
 * `maxUnavailable` allows and a VM of the same rank that is down can leave instead: a rollout that has VMs down must
 * not cost VMs that serve.
 */
export function chooseLeaving(input: ChoiceInput): VmView[] {
  const { pool, vmiOf, policy, active, excess } = input;
  const ordered = leavingOrder(input);
  const chosen = ordered.slice(0, excess);
  const down = new Set<VmView>(active.filter((vm) => isDown(vm, vmiOf(vm))));
  let tooMany = down.size - chosen.filter((vm) => down.has(vm)).length - maxUnavailableOf(pool);
  for (const other of ordered.slice(excess)) {
    if (tooMany <= 0) break;
    if (!down.has(other)) continue;
    const rank = selectorRank(other, policy);
    const ready = chosen.findLastIndex(
      (vm) => !down.has(vm) && !isAtRest(vm, vmiOf(vm)) && selectorRank(vm, policy) === rank,
    );
    if (ready === -1) continue;
    chosen[ready] = other;
    tooMany--;
  }
  return chosen;
}

/** What is known of a choice when it is carried out. */
interface ChoiceMade extends Pick<ChoiceInput, 'vmiOf' | 'policy'> {
  leaving: readonly RegularVm[];
  /** VMs that stay, and might leave instead. */
  staying: readonly RegularVm[];
}

/** Reports whether a VM that stays is down by now and would leave before a chosen VM that is ready. */
export function isOvertaken({ leaving, staying, policy, vmiOf }: ChoiceMade): boolean {
  const down = new Set<VmView>(staying.filter((vm) => isDown(vm, vmiOf(vm))));
  if (down.size === 0) return false;
  const ready = new Set<VmView>(leaving.filter((vm) => isReady(vm, vmiOf(vm))));
  const ordered = scaleInOrder([...ready, ...down] as VmView[], { policy });
  return ordered.findIndex((vm) => down.has(vm)) < ordered.findLastIndex((vm) => ready.has(vm));
}

/** A VM whose VMI runs an older revision than its spec has needs a restart, too. */
function isUpdated({ revision }: VmView, vmi: VmiView | undefined, target: string): boolean | 'unknown' {
  if (revision === null) return 'unknown';
  return revision === target && (liveVmi(vmi)?.revision ?? target) === target;
}

/** Where VMs are, and the VMs that stay there whatever is chosen; undefined if the policy asks for no spread. */
function spreadOf({ policy, vmiOf, zoneOf, active, mayLeave }: CandidatesInput): OrderOptions['spread'] {
  const { spread } = policy;
  if (spread === undefined) return undefined;
  const domainOf = (vm: VmView): string | null => {
    const node = vmiOf(vm)?.node ?? null;
    return node === null || spread === 'node' ? node : zoneOf(node);
  };
  return { domainOf, staying: active.filter((vm) => !mayLeave(vm)) };
}
