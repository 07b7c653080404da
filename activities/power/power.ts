import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { ACTION_LABELS, type PowerAction } from '../../decisions/power/action.ts';
import type { PowerOutcome, VmInProgress } from '../../decisions/power/outcome.ts';
import { planPower, type PowerPlan } from '../../decisions/power/plan.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { Changed } from '../cache/changes.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { waitFor, SETTLE_MS_A_VM } from '../cache/wait-for.ts';
import type { DisruptionClaims } from '../disruption-budget/places.ts';
import { digestOf } from '../lib/digest.ts';
import { forEachConcurrently } from '../lib/for-each-concurrently.ts';
import { withHeartbeat } from '../lib/heartbeat.ts';
import type { ChosenUids } from './chosen-uids.ts';
import { snapshotOfVms, VmPower } from './vm-power.ts';

/** How long freed room is gathered, unless a quarter of it has come together before. */
const GATHER_MS = 1_000;

interface Pace {
  action: PowerAction;
  atOnce: number;
  inProgress: VmInProgress[];
  minVersions: ResourceVersions;
}

export interface AwaitPowerRequest extends Pace {
  /** VMs that are not taken again, by `namespace/name`. */
  excluded: string[];
  deadlineMs: number;
  /** Whether further VMs may be taken. */
  takes: boolean;
  /** No VMs are taken before this, in milliseconds since the epoch. */
  notBefore: number;
  /**
   * Since when no VM has been taken and none has settled, in milliseconds since the epoch: `deadlineMs` later, the
   * rest is left.
   */
  lastProgressAt: number;
  /** Digest of what the workflow says it waits for; null if it says nothing yet. */
  digest: string | null;
}

export interface PowerObservation extends Omit<PowerPlan, 'wakeAt'> {
  /** Whether nothing is left to do or to wait for. */
  isOver: boolean;
  /** Digest of what is waited for, for comparison. */
  digest: string;
  minVersions: ResourceVersions;
}

export interface ChangePowerRequest extends Pace {
  /** Those of `inProgress` that are to be acted on now, by `namespace/name`. */
  vms: string[];
  requestedBy: string;
  reason: string | null;
}

export interface BegunPower {
  /** Outcomes of the VMs that are not waited for. */
  outcomes: PowerOutcome[];
  minVersions: ResourceVersions;
}

export interface PowerActivityOptions {
  client: KubeClient;
  cache: ClusterCache;
  places: DisruptionClaims;
  chosenUids: ChosenUids;
  /** Concurrent calls to the API server, for one activity. */
  concurrency: number;
  /** Aborted when the worker is asked to shut down. */
  stopping: AbortSignal;
}

export function createPowerActivities({
  client,
  cache,
  places,
  chosenUids,
  concurrency,
  stopping,
}: PowerActivityOptions) {
  const snapshot = snapshotOfVms(cache);

  return {
    /**
     * Waits until some of the chosen VMs can be taken, or some of those in progress are done or late, and
     * returns which. Looks at this worker's caches, and asks the API server only about late VMs.
     */
    awaitPower: (request: AwaitPowerRequest): Promise<PowerObservation> =>
      withHeartbeat(async () => {
        const chosen = await chosenUids.ofThisRun();
        const namespaces = new Set([...chosen.keys()].map((key) => key.slice(0, key.indexOf('/'))));
        const isRelevant = ({ namespace }: Changed): boolean => namespaces.has(namespace);
        const excluded = new Set(request.excluded);
        const { minVersions, notBefore, lastProgressAt, deadlineMs } = request;
        const settleMs = (): number => chosen.size * SETTLE_MS_A_VM;
        return waitFor<PowerObservation>(
          { cache, stopping, minVersions, isRelevant, settleMs, gatherMs: GATHER_MS },
          (now) => {
            const takes = request.takes && now >= notBefore;
            const { wakeAt, ...plan } = planPower({ ...request, chosen, snapshot, excluded, takes, now });
            const isOver = isOverAt(now, plan, request);
            const digest = digestOf([plan.skipped, plan.full]);
            const isEnough = isOver || request.digest === null || isPlenty(plan, request);
            const worth = plan.take.length + plan.settled.length > 0 ? 'something' : 'nothing';
            return {
              found: { ...plan, isOver, digest, minVersions: cache.versionsOf('vms', 'vmis') },
              worth: isEnough ? 'enough' : worth,
              shouldReport: digest !== request.digest,
              late: lateOf(plan.settled),
              times: [wakeAt ?? Infinity, notBefore, lastProgressAt + deadlineMs],
            };
          },
        );
      }),

    /**
     * Starts, stops or restarts these VMs, each only if it is still the chosen one and the limits allow it. Safe to run
     * again at any point.
     */
    changePower: ({
      vms,
      inProgress,
      requestedBy,
      reason,
      minVersions,
      ...pace
    }: ChangePowerRequest): Promise<BegunPower> =>
      withHeartbeat(async () => {
        const chosen = await chosenUids.ofThisRun();
        await cache.catchUp(minVersions);
        const others = inProgress.map(({ vm }) => vm).filter((key) => !vms.includes(key));
        const note = `${NOTES[pace.action]}, requested by ${requestedBy}${reason === null ? '' : `: ${reason}`}`;
        const power = new VmPower({ client, cache, places, chosen, others, note, ...pace });
        const outcomes = await forEachConcurrently(power, vms, concurrency);
        return { outcomes, minVersions: power.minVersions };
      }),
  };
}

const NOTES: Record<PowerAction, string> = {
  Start: ACTION_LABELS.Start.done,
  Stop: ACTION_LABELS.Stop.done,
  Restart: 'Restarted within a disruption budget',
};

export type PowerActivities = ReturnType<typeof createPowerActivities>;

/** Returns the VMs whose deadline has passed, by `namespace/name`. */
export const lateOf = (settled: readonly PowerOutcome[]): string[] =>
  settled.flatMap(({ vm, end }) => (end === 'Failed' ? [vm] : []));

function isOverAt(
  now: number,
  { take, settled, open }: Omit<PowerPlan, 'wakeAt'>,
  request: AwaitPowerRequest,
): boolean {
  const { inProgress, takes, lastProgressAt, deadlineMs } = request;
  if (inProgress.length > settled.length || take.length > 0) return false;
  return open === 0 || !takes || (settled.length === 0 && now >= lastProgressAt + deadlineMs);
}

/** Reports whether there is enough to begin with, or nothing left to gather. */
function isPlenty({ take, settled }: Omit<PowerPlan, 'wakeAt'>, { inProgress, atOnce }: AwaitPowerRequest): boolean {
  return take.length >= Math.ceil(atOnce / 4) || (settled.length > 0 && settled.length === inProgress.length);
}
