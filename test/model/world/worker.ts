import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { snapshotOf } from '../../../activities/cache/snapshot.ts';
import { DisruptionClaims } from '../../../activities/disruption-budget/disruption-claims.ts';
import { ActsOfWaves } from '../../../activities/disruption/acts-of-waves.ts';
import { createEvacuationActivities } from '../../../activities/drain/evacuate.ts';
import { createAwaitRemovalActivities } from '../../../activities/healing/await-removal.ts';
import { createHealActivities } from '../../../activities/healing/heal-vm.ts';
import { callSignal } from '../../../activities/lib/current-attempt.ts';
import type { OwnerIdOf } from '../../../activities/lib/planned.ts';
import { withFailures } from '../../../activities/lib/temporal-failure.ts';
import { createMachineTypeActivities } from '../../../activities/machine-types/machine-types.ts';
import { createOperationActivities } from '../../../activities/operations/operations.ts';
import { StatusReports } from '../../../activities/operations/status-reports.ts';
import type { PoolKey } from '../../../activities/owners/owner-key.ts';
import type { PlanRequest } from '../../../activities/owners/plan-request.ts';
import { createPoolActivities } from '../../../activities/pool/pool.ts';
import { ChosenVmsOfRuns } from '../../../activities/power/chosen-vms.ts';
import { createPowerActivities } from '../../../activities/power/power.ts';
import { createReplicaSetActivities } from '../../../activities/replica-sets/replica-sets.ts';
import { BatchCache } from '../../../activities/rollout/batch-cache.ts';
import { createCheckActivities } from '../../../activities/rollout/checks/check-activities.ts';
import type { Answer } from '../../../activities/rollout/checks/query-prometheus.ts';
import { Revisions } from '../../../activities/rollout/revisions.ts';
import { createUpdateActivities } from '../../../activities/rollout/update-vms.ts';
import { createScheduleActivities } from '../../../activities/schedules/schedules.ts';
import { createWatchActivities } from '../../../activities/watch/watch.ts';
import type { Signals } from '../../../activities/watch/watched.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  ClusterVirtualMachineOperations,
  Leases,
  Namespaces,
  VirtualMachineDisruptionBudgets,
  type Resource,
} from '../../../api/resources.ts';
import type { OperationRef } from '../../../decisions/operations/ref.ts';
import type { Batch } from '../../../decisions/owners/batch.ts';
import type { GivenInput } from '../../../decisions/pool/on-record.ts';
import type { PoolPlan } from '../../../decisions/pool/plan.ts';
import type { Look, Looked } from '../../../decisions/rollout/checks/check.ts';
import { isInPortion, type Portion } from '../../../decisions/shards/portion.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { childSignals, signalsOf } from '../../../workers/watch/workflow-signals.ts';
import { operationIdOf, ownerIdOf, taskQueueOf } from '../../../workflows/lib/messages.ts';
import { CLUSTER, PROMETHEUS } from './names.ts';
import type { ModelWorker } from './temporal/activity.ts';
import type { Process } from './virtual-time.ts';

export interface Worker extends ModelWorker {
  cache: ClusterCache;
  stopping: AbortController;
  /** The task queues that it serves now. */
  queues: Set<string>;
}

/** A plan as it was made, before its status was written. */
export type Seen = { gone: true } | ({ gone: false; key: PoolKey; generation: number } & PoolPlan);

interface WorkerOptions {
  process: Process;
  client: KubeClient;
  burst: number;
  /** What it takes of the cluster. */
  portions: readonly Portion[];
  /** Whether it keeps objects of all namespaces, whatever it takes. */
  keepsAll: boolean;
  /** `inputOf`: what the plan was made from; undefined if the worker's cache does not know the pool. */
  onPlan: (planned: Seen, inputOf: () => GivenInput | undefined) => void;
  onPlanFailed: (pool: string) => void;
  /** Whether operations are carried out by their workflows, and there are namespaces, and claims of these. */
  withOperations: boolean;
  /** Whether there are disruption budgets. */
  withBudgets: boolean;
  /** The value that the Prometheus answers which checks ask; throws if it does not answer. */
  prometheus: () => string;
  onLook: (pool: string, outcome: Look['outcome']) => void;
  /** A status of the pool was not written, because the pool does not bear it out. */
}

/** Kinds that most worlds have no objects of: to follow them would only shift their random numbers. */
const OF_OPERATIONS = new Set<Resource>([ClusterVirtualMachineOperations, Namespaces, Leases]);
const OF_BUDGETS = new Set<Resource>([VirtualMachineDisruptionBudgets, ClusterVirtualMachineDisruptionBudgets]);

const NONE: Signals = {
  notify: () => Promise.resolve(),
  signalDeleted: () => Promise.resolve(),
  unmanaged: () => Promise.resolve([]),
};

/** What the API of Prometheus answers if the query has this value. */
async function answerOf(value: () => string): Promise<Answer> {
  await sleep(50);
  const data = { resultType: 'scalar', result: [0, value()] };
  return { status: 200, body: JSON.stringify({ status: 'success', data }) };
}

const ownerId: OwnerIdOf = (kind, ref) => ownerIdOf(kind, { cluster: CLUSTER, ...ref });
const workflowIdOf = (ref: OperationRef): string => operationIdOf({ cluster: CLUSTER, ...ref });

/** A worker of drover's own code. Its cache is not started yet. */
export function createWorker(options: WorkerOptions): Worker {
  const { process, client: plain, burst, withOperations, withBudgets, onPlan, onPlanFailed } = options;
  const { prometheus, onLook, portions, keepsAll } = options;
  const takesAll = portions.some(({ shard }) => shard === undefined);
  const takes = (namespace: string): boolean => portions.some((portion) => isInPortion(portion, namespace));
  const cache = new ClusterCache({
    client: plain,
    ...(takesAll ? {} : { takes, keeps: keepsAll ? undefined : takes }),
    follows: (resource) =>
      (withOperations || !OF_OPERATIONS.has(resource)) && (withBudgets || !OF_BUDGETS.has(resource)),
  });
  const client = plain.endedBy(callSignal);
  const revisions = new Revisions({ client, cache });
  const stopping = new AbortController();
  const common = {
    client,
    cache,
    claims: new DisruptionClaims(client, cache),
    revisions,
    concurrency: 3,
    acts: new ActsOfWaves(4),
    stopping: stopping.signal,
  };
  const told = new BatchCache();
  const asked = new WeakMap<Context, PlanRequest & { batches: Batch[] }>();
  const pools = createPoolActivities({
    ...common,
    ownerIdOf: ownerId,
    burst,
    onPlanned: ({ namespace, name, isFailed, plan }) => {
      if (isFailed) onPlanFailed(name);
      const pool = cache.pools.get(`${namespace}/${name}`)!;
      const request = asked.get(Context.current())!;
      const key = { namespace, name, uid: pool.metadata.uid };
      const { generation = 0 } = pool.metadata;
      onPlan({ gone: false, key, generation, ...plan }, () => ({
        ...snapshotOf(cache, pool),
        ...request,
        burst,
      }));
    },
  });
  const ofOperations = { ...common, workflowIdOf, reports: new StatusReports({ client, workflowIdOf }) };
  const activities = withFailures({
    ...pools,
    plan: async (request: PlanRequest) => {
      // Told as the activity is: also of batches whose plan then fails.
      const batches = told.of(Context.current().info.workflowExecution!.runId, request.batches) ?? [];
      asked.set(Context.current(), { ...request, batches });
      const planned = await pools.plan(request);
      if ('incomplete' in planned) return planned;
      if (planned.gone) onPlan(planned, () => undefined);
      return planned;
    },
    ...createReplicaSetActivities({ ...common, ownerIdOf: ownerId, burst }),
    lookAtCheck: (key: PoolKey, at: number) => {
      const onLooked = (looked: Looked): void => {
        if ('outcome' in looked) onLook(key.uid, looked.outcome);
      };
      const options = { client, addresses: [PROMETHEUS], runQuery: () => answerOf(prometheus), onLooked };
      return createCheckActivities(options).lookAtCheck(key, at);
    },
    ...createUpdateActivities(common),
    ...createEvacuationActivities(common),
    ...createHealActivities(common),
    ...createPowerActivities({ ...ofOperations, chosenVms: new ChosenVmsOfRuns(cache) }),
    ...createMachineTypeActivities({ ...ofOperations, patchConcurrency: 3 }),
    ...createAwaitRemovalActivities(common),
    ...createScheduleActivities(common),
    ...createOperationActivities(ofOperations),
    ...createWatchActivities({
      client,
      cache,
      burst,
      refreshBudgets: (isWatched) => common.claims.refresh(isWatched),
      // Most stories start operations themselves.
      signalsOf: (what, portion) => (what === 'operation' && !withOperations ? NONE : signalsOf(what, portion)),
      childSignals,
      stopping: stopping.signal,
    }),
  });
  const queues = new Set(portions.map((portion) => taskQueueOf(CLUSTER, portion)));
  return { process, activities, cache, stopping, queues, polls: (queue) => queues.has(queue) };
}
