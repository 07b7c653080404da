import { POOL_LABEL } from '../../api/names.ts';
import { DEFAULT_ROLLOUT } from '../../api/pool-defaults.ts';
import type { Condition, PoolStatus } from '../../api/pool/pool.ts';
import { configurationCondition } from '../configuration/condition.ts';
import type { Contents } from '../configuration/older-content.ts';
import { keptCondition, type KeptClaim } from '../disks/kept-claims.ts';
import { drainingCondition, drainingCounts } from '../drain/condition.ts';
import type { EvacuationStatus } from '../drain/plan.ts';
import { driftCondition } from '../drift/condition.ts';
import type { DriftedVm } from '../drift/members.ts';
import { healingConditions, healingStatus, type HealingReport } from '../healing/conditions.ts';
import { isActive, isReady, type VmiOf } from '../health/availability.ts';
import { saysTheSame } from '../lib/canonical-json.ts';
import { availableCondition, type Availability } from '../owners/available-condition.ts';
import { housekeepingFailure, replicaFailure, type Failure } from '../owners/failures.ts';
import { goingVms } from '../owners/going.ts';
import { poolReadiness, readinessConditions } from '../owners/readiness.ts';
import type { MembershipPlan } from '../requests/membership.ts';
import { rolloutConditions } from '../rollout/conditions.ts';
import type { RolloutPlan } from '../rollout/plan.ts';
import { surplusCondition, type BlockedSurplus } from '../scaling/surplus.ts';
import { standbyStatus } from '../standby/standby.ts';
import { poolTemplate } from '../template/template.ts';
import type { StoredPool } from '../views/pool.ts';
import { isRegular, isSurge, type VmView } from '../views/vm.ts';

const OURS = new Set([
  'ReplicaFailure',
  'HousekeepingFailure',
  'Available',
  'Progressing',
  'UpToDate',
  'Paused',
  'Degraded',
  'Healing',
  'HealingSuspended',
  'Stalled',
  'Ready',
  'Reconciling',
  'DisksKept',
  'ScaleInBlocked',
  'Drifted',
  'MembershipChanging',
  'Restoring',
  'Draining',
  'EvictionsNotLimited',
  'Contended',
  'ConfigurationNotWatched',
]);

interface StatusInput {
  pool: StoredPool;
  /** All VMs that the pool owns. */
  all: readonly VmView[];
  vmiOf: VmiOf;
  failures: readonly Failure[];
  availability: Availability;
  rollout: RolloutPlan;
  healing: HealingReport;
  /** VMs that are too many and stay. */
  blocked: BlockedSurplus | null;
  /** How many VMs are to leave, and wait until others have gone. */
  waiting: number;
  /** Kept disks, by the numbers of the VMs that they wait for. */
  kept: ReadonlyMap<number, readonly KeptClaim[]>;
  /** VMs that are to leave nodes that are drained. */
  draining: readonly EvacuationStatus[];
  /** The condition of a pool whose VMs may be evicted whatever `maxUnavailable` says; empty without. */
  notLimited: readonly Condition[];
  /** VMs that people have changed. */
  drifted: readonly DriftedVm[];
  /** What people have asked of its members. */
  membership: Pick<MembershipPlan, 'handledRequests'>;
  /** The conditions of a pool whose members are changing, or come back; empty without. */
  changing: readonly Condition[];
  contents: Contents | null;
  judged: PoolStatus['contents'];
  /** RFC 3339. */
  now: string;
}

/** Returns the status that the pool should have. */
export function poolStatus({
  pool,
  all,
  vmiOf,
  failures,
  availability,
  rollout,
  healing,
  blocked,
  waiting,
  kept,
  draining,
  notLimited,
  drifted,
  membership: { handledRequests },
  changing,
  contents,
  judged = [],
  now,
}: StatusInput): PoolStatus {
  const surge = all.filter((vm) => isSurge(vm) && isActive(vm)).length;
  const serving = all.filter(({ deleting, role }) => !deleting && role !== 'Standby');
  // Extra and standby VMs are in the place of nobody.
  const leaving = pool.metadata.deletionTimestamp === undefined ? all.filter(isRegular) : all;
  const others = (pool.status?.conditions ?? []).filter(({ type }) => !OURS.has(type));
  return withReadiness(pool, now, {
    observedGeneration: pool.metadata.generation ?? 0,
    desiredReplicas: pool.spec.replicas,
    // An autoscaler divides the load by this number, and extra VMs bear their share.
    replicas: serving.length,
    readyReplicas: serving.filter((vm) => isReady(vm, vmiOf(vm))).length,
    availableReplicas: availability.available + (availability.availableSurge ?? 0),
    unavailableReplicas: availability.unavailable.length + availability.missing,
    updatedReplicas: rollout.updated,
    ...(rollout.outdatedPods.vms.length === 0 ? {} : { outdatedPodReplicas: rollout.outdatedPods.vms.length }),
    driftedReplicas: drifted.length,
    ...(surge === 0 ? {} : { surgeReplicas: surge }),
    ...standbyStatus(pool, all, vmiOf),
    ...drainingCounts(pool, draining),
    labelSelector: `${POOL_LABEL}=${pool.metadata.name}`,
    currentRevision: rollout.current,
    updateRevision: rollout.newest,
    keptDisks: [...kept.values()].reduce((sum, claims) => sum + claims.length, 0),
    rollout: rollout.state,
    ...(judged.length === 0 && pool.status?.contents === undefined ? {} : { contents: judged }),
    ...(hasHealing(pool, healing) ? { healing: healingStatus(healing) } : {}),
    ...(handledRequests === undefined ? {} : { membership: { handledRequests } }),
    conditions: [
      ...others,
      ...changing,
      availableCondition(pool, availability, now),
      ...rolloutConditions(pool, rollout, { blocked, waiting, going: goingVms(leaving, vmiOf) }, now),
      ...surplusCondition(pool, blocked, now),
      ...drainingCondition(pool, draining, now),
      ...notLimited,
      ...healingConditions(pool, healing, now),
      ...configurationCondition(pool, contents, now),
      ...driftCondition(pool, drifted, now),
      ...keptCondition(pool, kept, poolTemplate(pool.spec), now),
      ...replicaFailure(failures),
      ...housekeepingFailure(failures, now),
    ],
  });
}

const hasHealing = ({ spec }: StoredPool, { state: { cycles, handledRequests } }: HealingReport): boolean =>
  spec.autohealing !== undefined || cycles.length > 0 || handledRequests !== undefined;

function withReadiness(pool: StoredPool, now: string, status: PoolStatus): PoolStatus {
  const deadlineSeconds = pool.spec.rollout?.progressDeadlineSeconds ?? DEFAULT_ROLLOUT.progressDeadlineSeconds;
  const readiness = poolReadiness({ replicas: pool.spec.replicas, deadlineSeconds }, status, now);
  return { ...status, conditions: [...readinessConditions(pool, readiness, now), ...(status.conditions ?? [])] };
}

/** Reports whether the stored status of a pool says what it should, and of extra VMs no more. */
export const isStatusCurrent = (stored: PoolStatus | undefined, wanted: PoolStatus): boolean =>
  saysTheSame(stored, wanted) && stored?.surgeReplicas === wanted.surgeReplicas;
