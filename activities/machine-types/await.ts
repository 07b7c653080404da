import type { OwningPool } from '../../decisions/disruption-budget/restart-budget.ts';
import type { Seen } from '../../decisions/lib/resource-versions.ts';
import type { FailedVm, HeldGuest } from '../../decisions/machine-types/limit.ts';
import { MOST_TO_CHANGE, planTransition, type TransitionPlan } from '../../decisions/machine-types/plan.ts';
import type { TransitionCounts } from '../../decisions/machine-types/transition.ts';
import { inShort } from '../../decisions/runs/skipped.ts';
import type { Changed } from '../cache/changes.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { digestOf } from '../cache/digest.ts';
import { longLook, SETTLE_MS_A_VM } from '../cache/long-look.ts';
import { withHeartbeat } from '../lib/heartbeat.ts';
import { lateOf } from '../restarts/restarts.ts';
import { sceneOf, type TransitionRequest } from './context.ts';
import type { OtherTransitions } from './other-transitions.ts';
import { concernsTransition } from './relevant-change.ts';

/** While nothing is in hand: others restart their VMs whenever they like, and nobody waits for that to be told. */
const IDLE_SETTLE_MS_A_VM = 4 * SETTLE_MS_A_VM;
/** What is to be done is gathered for so long, unless much has come together before. */
const GATHER_MS = 500;

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
  cache: ClusterCache;
  others: OtherTransitions;
  /** Aborted when the worker is asked to end. */
  stopping: AbortSignal;
  onLook?: ((id: string, counts: TransitionCounts) => void) | undefined;
}

/**
 * Waits until something is to be done for the transition, or has become of what it has in hand, and says what: it reads
 * nothing but this worker's caches, and only when something has changed that concerns it.
 */
export function awaitTransition(
  { cache, others, stopping, onLook }: AwaitTransitionOptions,
  request: AwaitTransitionRequest,
): Promise<TransitionLook> {
  const { ref, seen, inHand, failed, maxRestarts, takes, isEnding, notBefore } = request;
  let concerns: ((changed: Changed) => boolean) | undefined;
  let isFirst = true;
  const options = {
    cache,
    stopping,
    seen,
    concerns: (changed: Changed) => concerns?.(changed) ?? true,
    settleMs: () => cache.vms.size * (inHand.length > 0 ? SETTLE_MS_A_VM : IDLE_SETTLE_MS_A_VM),
    gatherMs: GATHER_MS,
  };
  return withHeartbeat(() =>
    longLook<TransitionLook>(options, async (now) => {
      const { rules, picture } = await sceneOf(cache, others, request);
      concerns = concernsTransition(cache, rules);
      const whole = planTransition({
        rules,
        vms: cache.vms.values(),
        pools: ownersOf(cache),
        picture,
        inHand,
        failed,
        maxRestarts,
        takes,
        isEnding,
        now,
      });
      const passedOver = inShort(whole.passedOver);
      const { wakeAt, ...plan } = { ...whole, passedOver, ...(now < notBefore ? { take: [] } : {}) };
      onLook?.(ref.id, plan.counts);
      const told = digestOf([plan.counts, plan.passedOver, plan.full]);
      // What is found at once is left over from the turn before: there is nothing to gather.
      const isLeftOver = isFirst && plan.patch.length > 0;
      isFirst = false;
      const isEnough = plan.isOver || request.told === null || isLeftOver || isPlenty(plan, request);
      return {
        found: { ...plan, told, seen: cache.versionsOf('pools', 'vms', 'vmis') },
        worth: isEnough ? 'enough' : isIdle(plan) ? 'nothing' : 'something',
        isNews: told !== request.told,
        late: lateOf(plan.settled),
        times: [wakeAt ?? Infinity, notBefore],
      };
    }),
  );
}

type Plan = Omit<TransitionPlan, 'wakeAt'>;

const isIdle = ({ patch, pools, check, settled, take, unmark }: Plan): boolean =>
  patch.length + pools.length + check.length + settled.length + take.length + unmark.length === 0;

/** Whether there is enough to begin with, or nothing to gather any more. */
function isPlenty(
  { patch, pools, check, settled, take, unmark }: Plan,
  { inHand, maxRestarts }: AwaitTransitionRequest,
): boolean {
  if (Math.max(patch.length, unmark.length) >= MOST_TO_CHANGE || pools.length + check.length > 0) return true;
  return take.length >= Math.ceil(maxRestarts / 4) || (settled.length > 0 && settled.length === inHand.length);
}

function* ownersOf(cache: ClusterCache): Iterable<OwningPool> {
  for (const pool of cache.pools.values()) yield { pool, vms: () => cache.ownedBy(pool.metadata.uid) };
}
