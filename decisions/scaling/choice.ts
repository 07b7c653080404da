import type { SelectionPolicy } from '../../api/pool/pool.ts';
import { isAtRest, isDown, maxUnavailableOf, type VmiOf } from '../disruption-budget/availability.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import { labelRank, scaleInOrder } from './selection-order.ts';

export interface ChoiceInput {
  pool: StoredPool;
  vmiOf: VmiOf;
  policy: SelectionPolicy;
  /** All VMs that stay in the pool unless chosen. */
  active: readonly VmView[];
  /** Whether a VM may be chosen at all. */
  mayLeave: (vm: VmView) => boolean;
  /** Names of VMs that are being healed: they leave before others. */
  sick: ReadonlySet<string>;
  /** The revision that VMs are brought to. */
  target: string;
  /** How many VMs must leave. */
  excess: number;
}

/**
 * Returns the VMs that leave, in order. A ready VM is not chosen if that would leave more VMs down than
 * `maxUnavailable` allows and a VM of the same rank that is down can leave instead: a rollout that has VMs down must
 * not cost VMs that serve.
 */
export function chooseLeaving({ pool, vmiOf, policy, active, mayLeave, sick, target, excess }: ChoiceInput): VmView[] {
  const order = scaleInOrder(active.filter(mayLeave), {
    policy,
    isAtRest: (vm) => isAtRest(vm, vmiOf(vm)),
    isOutdated: (vm) => vm.revision !== target,
  });
  const ordered = [...order.filter((vm) => sick.has(vm.name)), ...order.filter((vm) => !sick.has(vm.name))];
  const chosen = ordered.slice(0, excess);
  const down = new Set(active.filter((vm) => isDown(vm, vmiOf(vm))));
  let tooMany = down.size - chosen.filter((vm) => down.has(vm)).length - maxUnavailableOf(pool);
  for (const other of ordered.slice(excess)) {
    if (tooMany <= 0) break;
    if (!down.has(other)) continue;
    const rank = labelRank(other, policy);
    const ready = chosen.findLastIndex(
      (vm) => !down.has(vm) && !isAtRest(vm, vmiOf(vm)) && labelRank(vm, policy) === rank,
    );
    if (ready === -1) continue;
    chosen[ready] = other;
    tooMany--;
  }
  return chosen;
}
