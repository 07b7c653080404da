import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { budgetGauges } from './budget-gauges.ts';
import { operationGauges, scheduleGauges } from './operation-gauges.ts';
import { poolGauges } from './pool-gauges.ts';
import { replicaSetGauges } from './replica-set-gauges.ts';
import { RequestMetrics } from './request-metrics.ts';
import { TransitionGauge } from './transition-gauge.ts';
import { vmGauges, VmMetrics } from './vm-metrics.ts';
import { workerMetrics } from './worker-metrics.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** Creates a worker's Prometheus metrics, all with the name of its cluster: one Prometheus may scrape several. */
export function createMetrics(cluster: string) {
  const registry = new Registry();
  registry.setDefaultLabels({ cluster });
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const counter = <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Gauge<L> =>
    new Gauge({ name, help, labelNames, registers });
  return {
    registry,
    ...workerMetrics(registry),
    requests: new RequestMetrics(registry),
    objects: gauge('drover_cached_objects', 'Objects in the watch cache.', ['resource']),
    missingKinds: gauge(
      'drover_missing_kinds',
      '1 for each kind of object that this worker cannot list: its log says which functions are off.',
      ['resource'],
    ),
    servedNamespaces: gauge(
      'drover_namespace_served',
      '1 for each namespace of DROVER_NAMESPACE that this worker serves; 0 while it waits for it, and its log says for what.',
      ['namespace'],
    ),
    watchErrors: counter('drover_watch_errors_total', 'Watches that failed and were restarted.', ['resource']),
    serverLost: gauge(
      'drover_api_server_unreachable',
      '1 while this worker takes no work because the API server does not answer.',
    ),
    lastSignal: gauge(
      'drover_last_signal_timestamp_seconds',
      'When this worker last signalled a change to a workflow; 0 if it never has.',
    ),
    missedEvents: counter(
      'drover_missed_events_total',
      'Changes that a relist found and no watch event had reported.',
      ['resource'],
    ),
    failedVmis: counter('drover_failed_vmis_total', 'VMIs of VMs that ran and then failed; KubeVirt recovers them.', [
      'namespace',
    ]),
    failedPlans: counter(
      'drover_failed_plans_total',
      'Plans that could not be made because of an error in a decision; the condition Stalled of the pool or set says why.',
      ['kind'],
    ),
    pools: poolGauges(registry),
    sets: replicaSetGauges(registry),
    operations: operationGauges(registry),
    schedules: scheduleGauges(registry),
    budgets: budgetGauges(registry),
    vms: new VmMetrics(registry),
    waitingVms: vmGauges(registry),
    healingReplacements: counter(
      'drover_healing_replacements_total',
      'Unhealthy VMs that this worker has deleted to be recreated, once for each attempt.',
    ),
    machineTypes: new TransitionGauge(registry),
    machineTypesPatched: counter(
      'drover_machine_types_patched_total',
      'VMs whose machine type this worker has changed.',
    ),
    machineTypesRestarted: counter(
      'drover_machine_types_restarted_total',
      'VMs that this worker has restarted for their new machine type.',
    ),
    failedSignals: counter('drover_failed_signals_total', 'Signals that did not reach Temporal.'),
  };
}
