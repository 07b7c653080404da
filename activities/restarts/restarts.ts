import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import {
  planRestarts,
  type RestartInProgress,
  type RestartOutcome,
  type RestartPlan,
} from '../../decisions/restarts/plan.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { Changed } from '../cache/changes.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { digestOf } from '../cache/digest.ts';
import { waitFor, SETTLE_MS_A_VM } from '../cache/wait-for.ts';
import type { Places } from '../disruption-budget/places.ts';
import { forEachConcurrently } from '../lib/for-each-concurrently.ts';
import { withHeartbeat } from '../lib/heartbeat.ts';
import type { ChosenVmis } from './chosen-vmis.ts';
import { snapshotOfVms, VmRestarter } from './vm-restarter.ts';

/** How long freed budget is gathered, unless a quarter of it has come together before. */
const GATHER_MS = 1_000;

interface Pace {
  maxUnavailable: number;
  inProgress: RestartInProgress[];
  seen: ResourceVersions;
}

export interface AwaitRestartsRequest extends Pace {
  /** VMs that are not retried, by `namespace/name`. */
  failed: string[];
  deadlineMs: number;
  /** Whether further VMs may be taken. */
  takes: boolean;
  /** No VMs are taken before this, in milliseconds since the epoch. */
  notBefore: number;
  /**
   * Since when no VM has been taken and none has come back, in milliseconds since the epoch: `deadlineMs` later, the
   * rest is left.
   */
  quietSince: number;
  /** Digest of what the workflow says it waits for; null if it says nothing yet. */
  told: string | null;
}

export interface RestartObservation extends Omit<RestartPlan, 'wakeAt'> {
  /** Whether nothing is left to do or to wait for. */
  isOver: boolean;
  /** Digest of what is waited for, for comparison. */
  told: string;
  seen: ResourceVersions;
}

export interface BeginRestartsRequest extends Pace {
  /** Those of `inHand` that are to be restarted now, by `namespace/name`. */
  vms: string[];
  askedBy: string;
  reason: string | null;
}

export interface BegunRestarts {
  /** Outcomes of the VMs that are not waited for. */
  outcomes: RestartOutcome[];
  seen: ResourceVersions;
}

export interface RestartActivityOptions {
  client: KubeClient;
  cache: ClusterCache;
  places: Places;
  chosenVmis: ChosenVmis;
  /** Concurrent calls to the API server, for one activity. */
  concurrency: number;
  /** Aborted when the worker is asked to shut down. */
  stopping: AbortSignal;
}

export function createRestartActivities({
  client,
  cache,
  places,
  chosenVmis,
  concurrency,
  stopping,
}: RestartActivityOptions) {
  const snapshot = snapshotOfVms(cache);

  return {
    /**
     * Waits until some of the chosen VMs can be restarted, or some of those in progress have come back or are late, and
     * returns which. Looks at this worker's caches, and asks the API server only about late VMs.
     */
    awaitRestarts: (request: AwaitRestartsRequest): Promise<RestartObservation> =>
      withHeartbeat(async () => {
        const chosen = await chosenVmis.ofThisRun();
        const namespaces = new Set([...chosen.keys()].map((key) => key.slice(0, key.indexOf('/'))));
        const isRelevant = ({ namespace }: Changed): boolean => namespaces.has(namespace);
        const failed = new Set(request.failed);
        const { seen, notBefore, quietSince, deadlineMs } = request;
        const settleMs = (): number => chosen.size * SETTLE_MS_A_VM;
        return waitFor<RestartObservation>(
          { cache, stopping, seen, isRelevant, settleMs, gatherMs: GATHER_MS },
          (now) => {
            const takes = request.takes && now >= notBefore;
            const { wakeAt, ...plan } = planRestarts({ ...request, chosen, snapshot, failed, takes, now });
            const isOver = isOverAt(now, plan, request);
            const told = digestOf([plan.skipped, plan.full]);
            const isEnough = isOver || request.told === null || isPlenty(plan, request);
            const worth = plan.take.length + plan.settled.length > 0 ? 'something' : 'nothing';
            return {
              found: { ...plan, isOver, told, seen: cache.versionsOf('vms', 'vmis') },
              worth: isEnough ? 'enough' : worth,
              shouldReport: told !== request.told,
              late: lateOf(plan.settled),
              times: [wakeAt ?? Infinity, notBefore, quietSince + deadlineMs],
            };
          },
        );
      }),

    /**
     * Restarts these VMs, each only if its VMI is still the chosen one and the budgets allow it. Safe to run again at
     * any point.
     */
    beginRestarts: ({
      vms,
      inProgress,
      maxUnavailable,
      askedBy,
      reason,
      seen,
    }: BeginRestartsRequest): Promise<BegunRestarts> =>
      withHeartbeat(async () => {
        const chosen = await chosenVmis.ofThisRun();
        await cache.catchUp(seen);
        const others = inProgress.map(({ vm }) => vm).filter((key) => !vms.includes(key));
        const note = `Restarted within a budget, asked for by ${askedBy}${reason === null ? '' : `: ${reason}`}`;
        const restarter = new VmRestarter({ client, cache, places, chosen, maxUnavailable, others, note });
        const outcomes = await forEachConcurrently(restarter, vms, concurrency);
        return { outcomes, seen: restarter.seen };
      }),
  };
}

export type RestartActivities = ReturnType<typeof createRestartActivities>;

/** Returns the VMs whose deadline has passed, by `namespace/name`. */
export const lateOf = (settled: readonly RestartOutcome[]): string[] =>
  settled.flatMap(({ vm, end }) => (end === 'Failed' ? [vm] : []));

function isOverAt(
  now: number,
  { take, settled, open }: Omit<RestartPlan, 'wakeAt'>,
  request: AwaitRestartsRequest,
): boolean {
  const { inProgress, takes, quietSince, deadlineMs } = request;
  if (inProgress.length > settled.length || take.length > 0) return false;
  return open === 0 || !takes || (settled.length === 0 && now >= quietSince + deadlineMs);
}

/** Reports whether there is enough to begin with, or nothing left to gather. */
function isPlenty(
  { take, settled }: Omit<RestartPlan, 'wakeAt'>,
  { inProgress, maxUnavailable }: AwaitRestartsRequest,
): boolean {
  return take.length >= Math.ceil(maxUnavailable / 4) || (settled.length > 0 && settled.length === inProgress.length);
}
