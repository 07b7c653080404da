import type { DisruptionReason } from '../../api/budgets/budget.ts';
import type { VmView } from '../views/vm.ts';

/** Why a VM waits for a disruption budget. */
export interface Refusal {
  /** UID of the budget; `namespace/name` of the VM if it alone has to wait. */
  budget: string;
  message: string;
  /** When a window of the budget opens, in milliseconds since the epoch; absent if it waits for no window. */
  opensAt?: number;
}

/**
 * Why budgets that select the VM would refuse this now; null if none would. A plan asks, since what only the act is
 * refused would be planned again and again.
 */
export type WhyHeld = (vm: VmView, act: 'restart' | 'migrate' | 'live', reason: DisruptionReason) => Refusal | null;

/** How often a plan looks again while a budget has no room: nothing tells a pool of others' VMs. */
const HELD_AGAIN_MS = 5_000;

/** When a plan asks again, in milliseconds since the epoch. */
export const heldUntil = ({ opensAt }: Refusal, now: number): number =>
  opensAt === undefined || opensAt <= now ? now + HELD_AGAIN_MS : opensAt;
