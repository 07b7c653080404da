import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { FailedVm, VmiInProgress } from '../../decisions/machine-types/limit.ts';
import { MAX_TO_CHANGE, planTransition, type TransitionPlan } from '../../decisions/machine-types/plan.ts';
import type { TransitionCounts } from '../../decisions/machine-types/transition.ts';
import { inShort } from '../../decisions/runs/skipped.ts';
import type { Changed } from '../cache/changes.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { waitFor } from '../cache/wait-for.ts';
import { digestOf } from '../lib/digest.ts';
import { withHeartbeat } from '../lib/heartbeat.ts';
import type { TransitionContext, TransitionContexts, TransitionRequest } from './context.ts';

/** How long work is gathered, unless enough has come together before. */
const GATHER_MS = 500;

export interface AwaitTransitionRequest extends TransitionRequest {
  inProgress: VmiInProgress[];
  failed: FailedVm[];
  maxRestarts: number;
  /** Whether VMs may be changed and restarted. */
  takes: boolean;
  /** Whether no more VMs are to be changed or restarted. */
  isEnding: boolean;
  /** No restart begins before this, in milliseconds since the epoch. */
  notBefore: number;
  /** Digest of what the workflow reports about the VMs; null if it reports nothing yet. */
  digest: string | null;
}

export interface TransitionObservation extends Omit<TransitionPlan, 'wakeAt'> {
  /** Digest of what is reported about the VMs, for comparison. */
  digest: string;
  minVersions: ResourceVersions;
}

export interface AwaitTransitionOptions {
  cache: ClusterCache;
  contexts: TransitionContexts;
  /** Aborted when the worker is asked to shut down. */
  stopping: AbortSignal;
  onLook?: ((id: string, counts: TransitionCounts) => void) | undefined;
}

/**
 * Waits until there is something to do for the transition, or something in progress has an outcome, and returns what.
 * Looks at this worker's caches, and only when something relevant has changed or is due.
 */
export function awaitTransition(
  { cache, contexts, stopping, onLook }: AwaitTransitionOptions,
  request: AwaitTransitionRequest,
): Promise<TransitionObservation> {
  const { ref, minVersions, notBefore } = request;
  let takesIn: TransitionContext['takesIn'] | undefined;
  let isFirst = true;
  const options = {
    cache,
    stopping,
    minVersions,
    isRelevant: ({ change }: Changed) => takesIn?.(change) ?? true,
    gatherMs: GATHER_MS,
  };
  return withHeartbeat(() =>
    waitFor<TransitionObservation>(options, async (now) => {
      const context = await contexts.of(request);
      ({ takesIn } = context);
      const whole = planTransition(context.needs, { ...request, now });
      const skipped = inShort(whole.skipped);
      const { wakeAt, ...plan } = { ...whole, skipped, ...(now < notBefore ? { take: [] } : {}) };
      onLook?.(ref.id, plan.counts);
      const digest = digestOf([plan.counts, plan.skipped, plan.full]);
      // What the first look finds is left over from the turn before: there is nothing to gather.
      const isLeftOver = isFirst && plan.patch.length > 0;
      isFirst = false;
      const isEnough = plan.isOver || request.digest === null || isLeftOver || isPlenty(plan, request);
      const worth = isIdle(plan) ? 'nothing' : 'something';
      return {
        found: { ...plan, digest, minVersions: cache.versionsOf('pools', 'vms', 'vmis') },
        worth: isEnough ? 'enough' : worth,
        shouldReport: digest !== request.digest,
        late: plan.settled.flatMap(({ vm, end }) => (end === 'Failed' ? [vm] : [])),
        times: [wakeAt ?? Infinity, notBefore],
      };
    }),
  );
}

type Plan = Omit<TransitionPlan, 'wakeAt'>;

const isIdle = ({ patch, pools, check, settled, take, unmark }: Plan): boolean =>
  patch.length + pools.length + check.length + settled.length + take.length + unmark.length === 0;

/** Reports whether there is enough to begin with, or nothing left to gather. */
function isPlenty(
  { patch, pools, check, settled, take, unmark }: Plan,
  { inProgress, maxRestarts }: AwaitTransitionRequest,
): boolean {
  if (Math.max(patch.length, unmark.length) >= MAX_TO_CHANGE || pools.length + check.length > 0) return true;
  return take.length >= Math.ceil(maxRestarts / 4) || (settled.length > 0 && settled.length === inProgress.length);
}
