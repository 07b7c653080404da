import type { Gauge } from 'prom-client';
import type { PoolStatus } from '../../../api/pool/pool.ts';
import type { StoredBudget } from '../../../decisions/disruption-budget/stored-budget.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../../decisions/views/stored-schedule.ts';
import type { Metrics } from '../../../workers/metrics/metrics.ts';
import type { MeasuredSet } from '../../../workers/metrics/replica-set-gauges.ts';
import { aBudget } from '../../api/budgets/budgets.ts';
import { condition, finished } from '../../clients/healing/pools.ts';
import { aPool, aVm, aVmi } from '../../decisions/fixtures/fleets.ts';
import { anOperation } from '../../decisions/operations/operations.ts';
import { aSchedule } from '../../decisions/schedules/schedules.ts';

/** What a worker has seen: one pool and one set. `sdk`: what Temporal's SDK has counted, by the series. */
export interface Seen {
  metrics: Metrics;
  pool: Partial<PoolStatus>;
  set: Partial<MeasuredSet['status'] & object>;
  sdk: Map<string, number>;
  operations: StoredOperation[];
  schedules: StoredSchedule[];
  budgets: StoredBudget[];
  /** How many minutes it has seen go wrong. */
  minutes: number;
}

/** How things go wrong: what each minute does to what a worker has seen, and after how many the alert fires. */
export interface Scenario {
  after: number;
  /** `isFirst`: the worker that watches the cluster. */
  minute: (seen: Seen, isFirst: boolean) => void;
  /** The labels of the alert that fires, beside its name and severity. */
  labels?: Record<string, string>;
}

const AT = '2026-01-02T03:04:05Z';
const POOL = { namespace: 'shop', pool: 'web' };
const SET = { namespace: 'ci', kind: 'VirtualMachineReplicaSet', set: 'runners' };
const FAILED =
  'temporal_workflow_task_execution_failed{namespace="default",task_queue="drover/default",workflow_type="pool"}';
const WAITED = 'temporal_workflow_task_schedule_to_start_latency';

const inPool = (after: number, pool: Partial<PoolStatus>, labels: Record<string, string> = {}): Scenario => ({
  after,
  minute: (seen) => void (seen.pool = { ...seen.pool, ...pool }),
  labels: { ...POOL, ...labels },
});
const rollout = (after: number, state: string): Scenario =>
  inPool(after, { conditions: [condition('Progressing', 'True', state)] }, { state });
const answered = ({ metrics }: Seen, status: number | undefined): void =>
  metrics.requests
    .began({
      method: 'PATCH',
      path: '/apis/kubevirt.io/v1/namespaces/shop/virtualmachines/web-1?fieldManager=drover',
      isWatch: false,
    })
    .onEnd({ status, seconds: 0.01, isAborted: false });

function boot({ metrics, minutes }: Seen, seconds: number): void {
  const times = { phaseSince: seconds * 1_000, createdAt: 0 };
  const vmi = { ...aVmi(aVm('web-1')), uid: `uid-${minutes}`, phase: 'Running', ...times };
  metrics.vms.change({ before: undefined, after: vmi }, () => POOL, true);
}

/** Each alert with what makes it fire, and nothing else. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  DroverNobodyWatches: {
    after: 3,
    minute: ({ metrics }) => metrics.watchRunning.set({ served: 'east' }, 0),
    labels: { served: 'east' },
  },
  DroverNamespaceWaits: {
    after: 17,
    minute: ({ metrics }) => metrics.servedNamespaces.set({ namespace: 'bank' }, 0),
    labels: { namespace: 'bank' },
  },
  DroverApiServerUnreachable: { after: 4, minute: ({ metrics }) => metrics.serverLost.set(1) },
  DroverRequestsForbidden: {
    after: 25,
    minute: (seen) => {
      answered(seen, 403);
      for (let count = 0; count < 20; count++) answered(seen, 200);
    },
    labels: { verb: 'patch', resource: 'virtualmachines' },
  },
  DroverRequestsFail: {
    after: 25,
    minute: (seen) => {
      for (const status of [200, 200, 503, undefined]) answered(seen, status);
    },
  },
  DroverSignalsFail: { after: 20, minute: ({ metrics }) => metrics.failedSignals.inc() },
  DroverWorkflowTasksFail: {
    after: 30,
    minute: ({ sdk }) => void sdk.set(FAILED, (sdk.get(FAILED) ?? 0) + 1),
    labels: { workflow_type: 'pool' },
  },
  DroverWorkflowsFail: {
    after: 2,
    minute: ({ sdk }) => void sdk.set('temporal_workflow_failed{task_queue="drover/default",workflow_type="pool"}', 1),
    labels: { workflow_type: 'pool' },
  },
  DroverTasksWait: {
    after: 25,
    minute: ({ sdk, minutes }) => {
      for (const [le, count] of Object.entries({ 1000: 0, 10000: 0, 60000: minutes, '+Inf': minutes }))
        sdk.set(`${WAITED}_bucket{task_queue="drover/default",le="${le}"}`, count);
    },
    labels: { task_queue: 'drover/default' },
  },
  DroverSignalsLate: {
    after: 25,
    minute: ({ metrics }) => metrics.signalDelay.observe({ kind: 'pool' }, 30),
  },
  DroverCacheBehind: {
    after: 5,
    minute: ({ metrics }) => metrics.cacheBehind.set({ resource: 'virtualmachines' }, 90),
    labels: { resource: 'virtualmachines' },
  },
  DroverWorkerBusy: {
    after: 13,
    minute: ({ sdk }, isFirst) => void (isFirst && sdk.set('nodejs_eventloop_lag_p99_seconds{}', 3)),
    labels: { job: 'drover' },
  },
  DroverWorkerFault: {
    after: 3,
    // The worker counts one, and ends.
    minute: ({ metrics }, isFirst) => {
      if (!isFirst) return;
      metrics.faults.reset();
      metrics.faults.inc({ kind: 'exception' });
    },
    labels: { kind: 'exception' },
  },
  DroverVersionsMixed: {
    after: 18,
    minute: ({ metrics }, isFirst) => {
      if (!isFirst) return;
      const build = metrics.registry.getSingleMetric('drover_build_info') as Gauge;
      build.reset();
      build.set({ version: '0.0.9' }, 1);
    },
  },
  DroverPoolShort: inPool(17, { availableReplicas: 2 }),
  DroverPoolStalled: inPool(
    3,
    { conditions: [condition('Stalled', 'True', 'InvalidTemplate')] },
    { reason: 'InvalidTemplate' },
  ),
  DroverRolloutStuck: rollout(7, 'UpdateFailed'),
  DroverRolloutWaits: rollout(62, 'WaitingForApproval'),
  DroverBudgetFull: inPool(62, {
    availableReplicas: 2,
    conditions: [condition('Progressing', 'True', 'RollingOut')],
  }),
  DroverReplicaSetShort: { after: 17, minute: ({ set }) => void (set.availableReplicas = 4), labels: SET },
  DroverReplicaSetProblem: {
    after: 7,
    minute: ({ set }) => void (set.conditions = [condition('ReplicaFailure', 'True', 'FailedCreate')]),
    labels: { ...SET, type: 'ReplicaFailure', reason: 'FailedCreate' },
  },
  DroverOperationFailed: {
    after: 2,
    minute: (seen) =>
      void (seen.operations = [
        anOperation({ action: 'Migrate' }, {}, { conditions: [condition('Progressing', 'False', 'VmsFailed')] }),
      ]),
    labels: { namespace: 'shop', action: 'Migrate', state: 'VmsFailed' },
  },
  DroverScheduleFailed: {
    after: 7,
    minute: (seen) =>
      void (seen.schedules = [
        { ...aSchedule(AT), status: { conditions: [condition('Succeeded', 'False', 'Missed')] } },
      ]),
    labels: { namespace: 'shop', schedule: 'stop', type: 'Succeeded', reason: 'Missed' },
  },
  DroverDisruptionBudgetFull: {
    after: 62,
    minute: (seen) => void (seen.budgets = [{ ...aBudget(), status: { fullSince: AT } }]),
    labels: { namespace: 'shop', budget: 'db' },
  },
  DroverHealingSuspended: inPool(7, {
    healing: { cycles: [], finished: [] },
    conditions: [condition('HealingSuspended', 'True', 'TooManyUnhealthy')],
  }),
  DroverHealingGivenUp: inPool(2, {
    healing: { cycles: [], finished: [finished({ vm: 'web-2', end: 'GivenUp' })] },
  }),
  DroverDrainStuck: inPool(12, { draining: [{ reason: 'Stuck', vms: 1 }] }),
  DroverVmsWaitForRestart: {
    after: 62,
    minute: ({ metrics }) =>
      metrics.waitingVms.look([
        aVm('web-1', { restartRequired: { since: null, message: 'a non-live-updatable field was changed' } }),
      ]),
    labels: POOL,
  },
  DroverVmsRestartOften: {
    after: 20,
    minute: (seen) => boot(seen, 20),
    labels: POOL,
  },
  DroverSlowBoot: {
    after: 70,
    // Few boots, so that the VMs do not restart often.
    minute: (seen) => {
      if (seen.minutes % 40 === 1) boot(seen, 500);
    },
    labels: POOL,
  },
};

/** Returns the pool and the set as the caches have them. */
export const objectsOf = ({ pool, set }: Seen): { pool: StoredPool; set: MeasuredSet } => ({
  pool: {
    ...aPool({ replicas: 3, drain: {} }),
    status: { replicas: 3, readyReplicas: 3, updatedReplicas: 3, availableReplicas: 3, ...pool },
  },
  set: {
    kind: SET.kind,
    metadata: { namespace: SET.namespace, name: SET.set },
    spec: { replicas: 5 },
    status: { replicas: 5, readyReplicas: 5, availableReplicas: 5, ...set },
  },
});
