import { createHash } from 'node:crypto';
import { cancellationSignal, Context } from '@temporalio/activity';
import { MOST_TO_CHANGE, planTransition, type TransitionPlan } from '../../decisions/machine-types/plan.ts';
import type { FailedVm, HeldGuest } from '../../decisions/machine-types/room.ts';
import type { TransitionCounts } from '../../decisions/machine-types/transition.ts';
import type { PassedOver } from '../../decisions/passed-over.ts';
import type { OwningPool } from '../../decisions/restart-budget.ts';
import type { Seen } from '../../decisions/versions.ts';
import { Changes } from '../changes.ts';
import type { Fleet } from '../fleet.ts';
import { concernsTransition } from './concerns.ts';
import type { OtherTransitions } from './other-transitions.ts';
import { sceneOf, seenOf, type TransitionRequest } from './scene.ts';

const HEARTBEAT_MS = 2_000;
/** Events that come together are looked at together; of many thousand VMs, not more often than this times their number. */
const SETTLE_MS = 50;
const SETTLE_MS_A_VM = 0.05;
/** The same while nothing is in hand: others restart their VMs whenever they like, and nobody waits for that to be told. */
const IDLE_SETTLE_MS_A_VM = 0.2;
/** A picture that nothing has changed is looked at again, should a watch have missed something or another transition have ended. */
const LOOK_AGAIN_MS = 30_000;
/** What is to be done is gathered for so long, unless much has come together before. */
const GATHER_MS = 500;
/** Reasons for which VMs are passed over, and names with each: what a look says stays small, whatever there is to say. */
const REASONS_TOLD = 40;
const NAMES_TOLD = 40;
/** What is waited for, and has changed, is told after so long. */
const TELL_MS = 5_000;

export interface AwaitTransitionRequest extends TransitionRequest {
  inHand: HeldGuest[];
  failed: FailedVm[];
  maxRestarts: number;
  /** Whether anything may be changed and restarted. */
  takes: boolean;
  /** Whether nothing is to be changed or restarted any more. */
  isEnding: boolean;
  /** No restart begins before; milliseconds since the epoch. */
  notBefore: number;
  /** What the workflow says of the VMs; null where it says nothing yet. */
  told: string | null;
}

export interface TransitionLook extends Omit<TransitionPlan, 'wakeAt'> {
  /** Stands for what is said of the VMs, to be compared with. */
  told: string;
  seen: Seen;
}

export interface AwaitTransitionOptions {
  fleet: Fleet;
  others: OtherTransitions;
  /** Aborted when the worker is asked to end. */
  stopping: AbortSignal;
  onLook?: ((id: string, counts: TransitionCounts) => void) | undefined;
}

/**
 * Waits until something is to be done for the transition, or has become of what it has in hand, and says what: it reads nothing
 * but this worker's caches, and only when something has changed that concerns it.
 */
export async function awaitTransition({ fleet, others, stopping, onLook }: AwaitTransitionOptions, request: AwaitTransitionRequest): Promise<TransitionLook> {
  const { heartbeat } = Context.current();
  const { ref, inHand, failed, maxRestarts, takes, isEnding, notBefore } = request;
  const beat = setInterval(() => heartbeat(), HEARTBEAT_MS);
  let changes: Changes | undefined;
  try {
    await fleet.catchUp(request.seen);
    const began = Date.now();
    const settleMs = Math.max(SETTLE_MS, fleet.vms.size * (inHand.length > 0 ? SETTLE_MS_A_VM : IDLE_SETTLE_MS_A_VM));
    let foundAt: number | null = null;
    let isFirst = true;
    for (;;) {
      cancellationSignal().throwIfAborted();
      const { rules, picture } = await sceneOf(fleet, others, request);
      changes ??= new Changes(fleet, stopping, concernsTransition(fleet, rules));
      const now = Date.now();
      const whole = planTransition({ rules, vms: fleet.vms.values(), pools: ownersOf(fleet), picture, inHand, failed, maxRestarts, takes, isEnding, now });
      const { wakeAt, ...plan } = { ...whole, passedOver: shortened(whole.passedOver), ...(now < notBefore ? { take: [] } : {}) };
      onLook?.(ref.id, plan.counts);
      const told = wordOf(plan);
      foundAt = isIdle(plan) ? null : (foundAt ?? now);
      // What is found at once is left over from the turn before: there is nothing to gather.
      const isLeftOver = isFirst && plan.patch.length > 0;
      isFirst = false;
      const dues = [
        plan.isOver || request.told === null || isLeftOver || isPlenty(plan, request) ? now : Infinity,
        foundAt === null ? Infinity : foundAt + GATHER_MS,
        told === request.told ? Infinity : began + TELL_MS,
      ];
      if (Math.min(...dues) <= now) return { ...plan, told, seen: seenOf(fleet) };
      const times = [wakeAt ?? Infinity, notBefore].filter((time) => time > now);
      await changes.next(Math.min(...dues, ...times, now + LOOK_AGAIN_MS) - now, settleMs);
    }
  } finally {
    clearInterval(beat);
    changes?.stop();
  }
}

function shortened(passedOver: readonly PassedOver[]): PassedOver[] {
  const told = passedOver.slice(0, REASONS_TOLD).map((one) => ({ ...one, vms: one.vms.slice(0, NAMES_TOLD) }));
  const count = passedOver.slice(REASONS_TOLD).reduce((sum, one) => sum + one.count, 0);
  return count === 0 ? told : [...told, { why: 'for other reasons', isWish: false, count, vms: [] }];
}

type Plan = Omit<TransitionPlan, 'wakeAt'>;

const wordOf = ({ counts, passedOver, full }: Plan): string =>
  createHash('sha256').update(JSON.stringify([counts, passedOver, full])).digest('hex').slice(0, 16);

const isIdle = ({ patch, pools, check, settled, take, unmark }: Plan): boolean =>
  patch.length + pools.length + check.length + settled.length + take.length + unmark.length === 0;

/** Whether there is enough to begin with, or nothing to gather any more. */
function isPlenty({ patch, pools, check, settled, take, unmark }: Plan, { inHand, maxRestarts }: AwaitTransitionRequest): boolean {
  if (Math.max(patch.length, unmark.length) >= MOST_TO_CHANGE || pools.length + check.length > 0) return true;
  return take.length >= Math.ceil(maxRestarts / 4) || (settled.length > 0 && settled.length === inHand.length);
}

function* ownersOf(fleet: Fleet): Iterable<OwningPool> {
  for (const pool of fleet.pools.values()) yield { pool, vms: () => fleet.ownedBy(pool.metadata.uid) };
}
