import type { ClusterCache } from '../activities/cache/cluster-cache.ts';
import { DisruptionClaims } from '../activities/disruption-budget/disruption-claims.ts';
import { ActsOfWaves, BEGUN_FOR_EACH } from '../activities/disruption/acts-of-waves.ts';
import { createEvacuationActivities } from '../activities/drain/evacuate.ts';
import { createAwaitRemovalActivities } from '../activities/healing/await-removal.ts';
import { createHealActivities } from '../activities/healing/heal-vm.ts';
import { callSignal } from '../activities/lib/current-attempt.ts';
import type { OwnerIdOf } from '../activities/lib/planned.ts';
import type { OnPlanned } from '../activities/lib/planned.ts';
import { withFailures, withWaitFailures } from '../activities/lib/temporal-failure.ts';
import { createMachineTypeActivities } from '../activities/machine-types/machine-types.ts';
import { createOperationActivities } from '../activities/operations/operations.ts';
import { StatusReports } from '../activities/operations/status-reports.ts';
import { createPoolActivities } from '../activities/pool/pool.ts';
import { ChosenVmsOfRuns } from '../activities/power/chosen-vms.ts';
import { createPowerActivities } from '../activities/power/power.ts';
import { createReplicaSetActivities } from '../activities/replica-sets/replica-sets.ts';
import { createCheckActivities } from '../activities/rollout/checks/check-activities.ts';
import { queryPrometheus } from '../activities/rollout/checks/query-prometheus.ts';
import { Revisions } from '../activities/rollout/revisions.ts';
import { createUpdateActivities } from '../activities/rollout/update-vms.ts';
import { createScheduleActivities } from '../activities/schedules/schedules.ts';
import { createWatchActivities, type WatchActivityOptions } from '../activities/watch/watch.ts';
import type { OperationRef } from '../decisions/operations/ref.ts';
import type { KubeClient } from '../kubernetes/client.ts';
import { operationIdOf, ownerIdOf as ownerIdIn } from '../workflows/lib/messages.ts';
import type { WorkerConfig } from './config.ts';
import type { Metrics } from './metrics/metrics.ts';
import { childSignals, signalsOf } from './watch/workflow-signals.ts';

interface ActivitiesOptions extends Pick<WatchActivityOptions, 'onWatching'> {
  config: WorkerConfig;
  client: KubeClient;
  cache: ClusterCache;
  metrics: Metrics;
  /** Aborted when the worker is asked to shut down. */
  stopping: AbortSignal;
}

/**
 * Creates all activities, by the task queue that serves them: activities that act, activities that only wait, and the
 * watch.
 */
export function createActivities({ config, client, cache, metrics, onWatching, stopping }: ActivitiesOptions) {
  const { burst, concurrency } = config;
  const ended = client.endedBy(callSignal);
  const common = {
    client: ended,
    cache,
    claims: new DisruptionClaims(client, cache),
    revisions: new Revisions({ client, cache }),
    concurrency,
    // One wave alone may begin as many.
    acts: new ActsOfWaves(BEGUN_FOR_EACH * concurrency),
    stopping,
  };
  const ownerIdOf: OwnerIdOf = (kind, ref) => ownerIdIn(kind, { cluster: config.cluster, ...ref });
  const workflowIdOf = (ref: OperationRef): string => operationIdOf({ cluster: config.cluster, ...ref });
  const ofOperations = { ...common, workflowIdOf, reports: new StatusReports({ client: ended, workflowIdOf }) };
  const { changePower, ...power } = createPowerActivities({ ...ofOperations, chosenVms: new ChosenVmsOfRuns(cache) });
  const { updateVms, removeVms } = createUpdateActivities(common);
  const { followTransition, ...machineTypes } = createMachineTypeActivities({
    ...ofOperations,
    patchConcurrency: config.connections,
    onLook: metrics.machineTypes.look,
    onPatched: (count) => metrics.machineTypesPatched.inc(count),
    onRestarted: (count) => metrics.machineTypesRestarted.inc(count),
  });
  const onReplaced = (): void => metrics.healingReplacements.inc();
  const measured = measures(metrics);
  return {
    working: withFailures({
      ...createPoolActivities({ ...common, ownerIdOf, burst, onPlanned: measured.planned }),
      ...createReplicaSetActivities({ ...common, ownerIdOf, burst, onPlanned: measured.planned }),
      removeVms,
      ...createCheckActivities({ client: ended, addresses: config.checkAddresses, runQuery: queryPrometheus }),
      ...createEvacuationActivities(common),
      ...createHealActivities({ ...common, onReplaced }),
      ...createOperationActivities(ofOperations),
      ...createScheduleActivities(common),
      ...machineTypes,
      ...power,
    }),
    waiting: withWaitFailures({
      updateVms,
      ...createAwaitRemovalActivities(common),
      changePower,
      followTransition,
    }),
    watching: withWaitFailures(
      createWatchActivities({
        client: ended,
        cache,
        burst,
        refreshBudgets: (isWatched) => common.claims.refresh(isWatched),
        signalsOf,
        childSignals,
        onFailure: () => metrics.failedSignals.inc(),
        onSignalled: measured.signalled,
        onWatching,
        stopping,
      }),
    ),
  };
}

/** What activities say of themselves in metrics. */
function measures(metrics: Metrics) {
  return {
    planned: (({ kind, seconds, isFailed }) => {
      metrics.planSeconds.observe({ kind }, seconds);
      if (isFailed) metrics.failedPlans.inc({ kind });
    }) satisfies OnPlanned,
    signalled: (({ kind, seconds }) => {
      metrics.lastSignal.setToCurrentTime();
      if (seconds !== undefined) metrics.signalDelay.observe({ kind }, seconds);
    }) satisfies WatchActivityOptions['onSignalled'],
  };
}
