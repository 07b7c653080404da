import { createAwaitActivities } from '../activities/await-vms.ts';
import { ChosenGuests } from '../activities/chosen-guests.ts';
import { Places } from '../activities/disruption-budget/places.ts';
import { withFailures } from '../activities/failure.ts';
import type { Fleet } from '../activities/fleet.ts';
import { createHealActivities } from '../activities/heal.ts';
import { createMachineTypeActivities } from '../activities/machine-types.ts';
import { createPoolActivities } from '../activities/pool.ts';
import { createRestartActivities } from '../activities/restarts.ts';
import { Revisions } from '../activities/revisions.ts';
import { createUpdateActivities } from '../activities/update.ts';
import { createWatchActivities } from '../activities/watch.ts';
import type { KubeClient } from '../kubernetes/client.ts';
import type { WorkerConfig } from './config.ts';
import type { Metrics } from './metrics.ts';
import { nudgePool, tellGone } from './nudge-pool.ts';

export interface ActivitiesOptions {
  config: WorkerConfig;
  client: KubeClient;
  fleet: Fleet;
  metrics: Metrics;
  /** Aborted when the worker is asked to end. */
  stopping: AbortSignal;
}

/** All activities, by the task queue on which they are served: those that work, those that only wait, and the watch. */
export function createActivities({ config, client, fleet, metrics, stopping }: ActivitiesOptions) {
  const { burst, concurrency } = config;
  const common = { client, fleet, places: new Places(client, fleet), revisions: new Revisions({ client, fleet }), concurrency, stopping };
  const { awaitRestarts, ...restarts } = createRestartActivities({ ...common, chosenGuests: new ChosenGuests() });
  const { awaitTransition, ...machineTypes } = createMachineTypeActivities({
    ...common,
    patchConcurrency: config.connections,
    onLook: metrics.machineTypes.look,
    onPatched: (count) => metrics.machineTypesPatched.inc(count),
    onRestarted: (count) => metrics.machineTypesRestarted.inc(count),
  });
  const onReplaced = ({ namespace, name: pool }: { namespace: string; name: string }): void => metrics.healingReplacements.inc({ namespace, pool });
  return {
    working: withFailures({
      ...createPoolActivities({ ...common, burst, onPlanFailed: ({ namespace, name: pool }) => metrics.failedPlans.inc({ namespace, pool }) }),
      ...createUpdateActivities(common),
      ...createHealActivities({ ...common, onReplaced }),
      ...restarts,
      ...machineTypes,
    }),
    waiting: withFailures({ ...createAwaitActivities(common), awaitRestarts, awaitTransition }),
    watching: withFailures(createWatchActivities({ fleet, burst, nudgePool, tellGone, onFailure: () => metrics.failedNudges.inc(), stopping })),
  };
}
