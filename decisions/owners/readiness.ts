import { conditionOf } from '../../api/objects.ts';
import type { Condition } from '../../api/pool/pool.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import { withTime, type UntimedCondition } from './conditions.ts';

/** How far a pool or a set is on the way to what its spec says. */
interface Readiness {
  /**
   * `Ready`: it is there. `Reconciling`: it is on the way, and continues by itself. `Held`: it is not there, and drover
   * leaves the rest to users, or to VMs that come back by themselves. `Stalled`: users have to correct something.
   */
  state: 'Ready' | 'Reconciling' | 'Held' | 'Stalled';
  reason: ConditionReason<'Ready'>;
  message: string;
}

/** The conditions of a status that say how far its owner is. */
interface Said {
  replicas?: number;
  unavailableReplicas?: number;
  conditions?: readonly Pick<Condition, 'type' | 'status' | 'reason' | 'message' | 'lastTransitionTime'>[];
}

interface Wanted {
  replicas: number;
  /** How long a refusal may last before it counts as not passing by itself. */
  deadlineSeconds: number;
}

/** `stopped`: how many of its VMs users or their guests have stopped. */
type WantedOfPool = Wanted & { stopped?: number };

const MESSAGE_LENGTH = 1_024;

/** What is none of these continues by itself. */
const STATES: Record<string, Readiness['state']> = {
  Complete: 'Ready',
  OutdatedPods: 'Ready',
  Paused: 'Held',
  WaitingForApproval: 'Held',
  OutdatedVms: 'Held',
  ProgressDeadlineExceeded: 'Held',
  Stuck: 'Held',
  Failed: 'Stalled',
  Undone: 'Stalled',
  UndoFailed: 'Stalled',
  Aborted: 'Stalled',
};
/** VMs that are too many and stay: a window opens by itself. */
const SURPLUS: Record<string, Readiness['state']> = {
  WaitingForWindow: 'Reconciling',
  InvalidRemoveAnnotation: 'Stalled',
};

/** How far a pool is, by a status that is about its newest spec. `now`: RFC 3339. */
export const poolReadiness = (wanted: WantedOfPool, status: Said, now: string): Readiness =>
  unlessStalled(poolProgress(wanted, status), status, wanted, now);

function poolProgress({ replicas: wanted, stopped = 0 }: WantedOfPool, status: Said): Readiness {
  const { replicas = 0, unavailableReplicas = 0 } = status;
  const [progressing, upToDate] = [conditionOf(status, 'Progressing'), conditionOf(status, 'UpToDate')];
  if (progressing === undefined) return PENDING;
  const state = STATES[progressing.reason ?? ''] ?? 'Reconciling';
  if (state !== 'Ready') return as(state, progressing);
  if (upToDate === undefined) return as('Reconciling', progressing);
  if (upToDate.status !== 'True' && upToDate.reason !== 'OutdatedPods') return as('Stalled', upToDate);
  const surplus = conditionOf(status, 'ScaleInBlocked');
  if (surplus !== undefined) return as(SURPLUS[surplus.reason ?? ''] ?? 'Held', surplus);
  // Nothing more is done for pods, and nothing waits for them.
  if (replicas === wanted && unavailableReplicas === 0)
    return progressing.reason === 'OutdatedPods' ? as('Ready', progressing) : there(`all of ${wanted} VMs`, stopped);
  if (unavailableReplicas === 0) return starting(`${replicas} of ${wanted} VMs exist`);
  const are = unavailableReplicas === 1 ? 'is' : 'are';
  return starting(`${unavailableReplicas} of ${wanted} VMs ${are} not available`);
}

/** How far a set is. `isToRun`: whether its template has its members start. */
export const setReadiness = (wanted: Wanted & { isToRun: boolean }, status: Said, now: string): Readiness =>
  unlessStalled(setProgress(wanted, status), status, wanted, now);

function setProgress({ replicas: wanted, isToRun }: Wanted & { isToRun: boolean }, status: Said): Readiness {
  const [progressing, available] = [conditionOf(status, 'Progressing'), conditionOf(status, 'Available')];
  if (progressing === undefined) return PENDING;
  const isPaused = progressing.reason === 'Paused';
  if (status.replicas !== wanted) return as(isPaused ? 'Held' : 'Reconciling', progressing);
  if (!isPaused && progressing.reason !== 'Complete') return as('Reconciling', progressing);
  // Members that were not to be started are as the template wants them, although none is available.
  if (available?.status === 'True' || !isToRun) return there(`all of ${wanted} members`);
  return starting(available?.message ?? `not all of ${wanted} members are available`);
}

/** Users have to look at a refusal that lasts; drover keeps trying. */
function unlessStalled(readiness: Readiness, status: Said, { deadlineSeconds }: Wanted, now: string): Readiness {
  const broken = conditionOf(status, 'Stalled');
  if (broken?.status === 'True') return as('Stalled', broken);
  if (readiness.state !== 'Reconciling') return readiness;
  const housekeeping = conditionOf(status, 'HousekeepingFailure');
  const refusals = [
    conditionOf(status, 'ReplicaFailure'),
    BLOCKING_REASONS.has(housekeeping?.reason ?? '') ? housekeeping : undefined,
  ];
  const lasts = (since: string): boolean => Date.parse(now) - Date.parse(since) >= deadlineSeconds * 1000;
  const lasting = refusals.find((refusal) => lasts(refusal?.lastTransitionTime ?? now));
  return lasting === undefined ? readiness : as('Stalled', lasting);
}

/** Housekeeping without which a pool does not become what its spec says. */
const BLOCKING_REASONS: ReadonlySet<string> = new Set<ConditionReason<'HousekeepingFailure'>>([
  'FailedLabel',
  'FailedChangeMembers',
]);

const PENDING: Readiness = { state: 'Reconciling', reason: 'Pending', message: 'no worker has looked at it yet' };

const there = (all: string, stopped = 0): Readiness => ({
  state: 'Ready',
  reason: 'AsWanted',
  message: `${all} match the spec${stopped === 0 ? '' : `, and ${stopped} ${stopped === 1 ? 'is' : 'are'} stopped`}`,
});

const starting = (message: string): Readiness => ({ state: 'Reconciling', reason: 'Starting', message });

const as = (
  state: Readiness['state'],
  { reason = '', message = '' }: { reason?: string; message?: string },
): Readiness => ({
  state,
  reason: reason as Readiness['reason'],
  message: message.slice(0, MESSAGE_LENGTH),
});

interface Timed {
  metadata: { generation?: number };
  status?: { conditions?: Condition[] };
}

/**
 * Returns the conditions by which kstatus, and tools that use it, tell how far an owner is: `Ready`, and beside it
 * `Reconciling` or `Stalled` only while they are true. An owner that is held has neither: kstatus takes it for one in
 * progress. `now`: RFC 3339.
 */
export function readinessConditions(owner: Timed, { state, reason, message }: Readiness, now: string): Condition[] {
  const said = { reason, message };
  const conditions: UntimedCondition[] = [{ type: 'Ready', status: state === 'Ready' ? 'True' : 'False', ...said }];
  if (state === 'Reconciling') conditions.push({ type: 'Reconciling', status: 'True', ...said });
  if (state === 'Stalled')
    conditions.push({ type: 'Stalled', status: 'True', reason: reason as ConditionReason<'Stalled'>, message });
  const observedGeneration = owner.metadata.generation ?? 0;
  return conditions.map((condition) => ({ ...withTime(owner, condition, now), observedGeneration }));
}
