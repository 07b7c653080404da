import { POOL_LABEL } from '../../api/labels-and-annotations.ts';
import type { Condition, PoolStatus } from '../../api/pool/pool.ts';
import { DEFAULT_ROLLOUT } from '../../api/rules/pool-defaults.ts';
import { configurationCondition } from '../configuration/condition.ts';
import { keptCondition } from '../disks/kept-claims.ts';
import { drainingCondition, drainingCounts } from '../drain/condition.ts';
import { driftCondition } from '../drift/condition.ts';
import { driftedVms } from '../drift/members.ts';
import { healingConditions, healingStatus, type HealingReport } from '../healing/conditions.ts';
import { isActive, isReady } from '../health/availability.ts';
import { whyNotStarting } from '../health/excused.ts';
import { saysTheSame } from '../lib/canonical-json.ts';
import { membersCondition } from '../membership/condition.ts';
import { poolRestoring } from '../membership/restore.ts';
import { conditionsOfOthers, withTime, type UntimedCondition } from '../owners/conditions.ts';
import { failedStarts, housekeepingFailure, replicaFailure, type Failure } from '../owners/failures.ts';
import { poolReadiness, readinessConditions } from '../owners/readiness.ts';
import { terminatingVms } from '../owners/terminating.ts';
import { rolloutConditions } from '../rollout/conditions.ts';
import type { RolloutPlan } from '../rollout/plan.ts';
import { availableCondition, type Availability } from '../scaling/available-condition.ts';
import { standbyStatus } from '../scaling/standby/standby.ts';
import { surplusCondition } from '../scaling/surplus.ts';
import { poolTemplate } from '../template/template.ts';
import type { StoredPool } from '../views/pool.ts';
import { isRegular, isSurge } from '../views/vm.ts';
import type { Decided } from './all-steps.ts';
import { contendedCondition } from './contention.ts';
import type { PoolContext } from './context.ts';
import { storable } from './storable-status.ts';

/** What a plan has found out about the pool. */
interface Found extends Decided {
  failures: readonly Failure[];
  availability: Availability;
  /** What is known of Secrets and ConfigMaps beyond what the API server tells. */
  judged: PoolStatus['contents'];
}

export function poolStatus(context: PoolContext, found: Found): PoolStatus {
  const { pool, vms: all, vmiOf, kept, contents } = context;
  const { failures, availability, rollout, healing, scaling, drain, judged = [] } = found;
  const { handledRequests } = context.membership;
  const { cycles } = healing.state;
  const now = new Date(context.now).toISOString();
  const timed = (condition: UntimedCondition): Condition => withTime(pool, condition, now);
  const drifted = driftedVms(pool, all, context.templateOf);
  const hindered = all.filter(isActive).map((vm) => ({ name: vm.name, whyNotStarting: whyNotStarting(vm, vmiOf(vm)) }));
  const surge = all.filter((vm) => isSurge(vm) && isActive(vm)).length;
  const serving = all.filter(({ deleting, role }) => !deleting && role !== 'Standby');
  // Extra and standby VMs take no replica's place.
  const leaving = pool.metadata.deletionTimestamp === undefined ? all.filter(isRegular) : all;
  const status: PoolStatus = {
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
    ...drainingCounts(pool, drain.statuses, now),
    labelSelector: `${POOL_LABEL}=${pool.metadata.name}`,
    currentRevision: rollout.current,
    updateRevision: rollout.newest,
    keptDisks: [...kept.values()].reduce((sum, claims) => sum + claims.length, 0),
    rollout: rollout.state,
    ...budgetFullSince(pool, rollout, now),
    ...(judged.length === 0 && pool.status?.contents === undefined ? {} : { contents: judged }),
    ...(hasHealing(pool, healing) ? { healing: healingStatus(healing) } : {}),
    ...(handledRequests === undefined ? {} : { membership: { handledRequests } }),
    conditions: [
      ...conditionsOfOthers(pool),
      ...[
        ...contendedCondition(context),
        ...membersCondition(context, cycles),
        ...poolRestoring(context, found.restore, found.returned),
        availableCondition(pool, availability),
      ].map(timed),
      ...rolloutConditions(pool, rollout, { ...scaling, going: terminatingVms(leaving, vmiOf) }, now),
      ...[
        ...surplusCondition(scaling.blocked),
        ...drainingCondition(drain.statuses),
        ...healingConditions(pool, healing),
        ...configurationCondition(pool, contents),
        ...driftCondition(pool, drifted),
        ...keptCondition(pool, kept, poolTemplate(pool.spec)),
      ].map(timed),
      ...replicaFailure([...failures, ...failedStarts(pool, hindered, now)]),
      ...housekeepingFailure(failures, now),
    ],
  };
  const { replicas, rollout: { progressDeadlineSeconds } = DEFAULT_ROLLOUT } = pool.spec;
  const { length: stopped } = availability.notRunning.names;
  const deadlineSeconds = progressDeadlineSeconds ?? DEFAULT_ROLLOUT.progressDeadlineSeconds;
  const readiness = poolReadiness({ replicas, deadlineSeconds, stopped }, status, now);
  return storable({
    ...status,
    conditions: [...readinessConditions(pool, readiness, now), ...(status.conditions ?? [])],
  });
}

/** A VM that starts again and again is down anew each time: what counts is that nothing comes of it. */
function budgetFullSince(
  { status }: StoredPool,
  { waits, updated }: RolloutPlan,
  now: string,
): Pick<PoolStatus, 'budgetFullSince'> {
  if (!waits.some(({ kind }) => kind === 'Budget' || kind === 'Blocked')) return {};
  const since = status?.updatedReplicas === updated ? status.budgetFullSince : undefined;
  return { budgetFullSince: since ?? now };
}

const hasHealing = ({ spec }: StoredPool, { state: { cycles, handledRequests } }: HealingReport): boolean =>
  spec.autohealing !== undefined || cycles.length > 0 || handledRequests !== undefined;

/** Reports whether the stored status of a pool says what it should, and of extra VMs no more. */
export const isStatusCurrent = (stored: PoolStatus | undefined, wanted: PoolStatus): boolean =>
  saysTheSame(stored, wanted) && stored?.surgeReplicas === wanted.surgeReplicas;
