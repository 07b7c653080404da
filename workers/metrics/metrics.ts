import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { HealingGauges } from './healing-gauges.ts';
import { PoolGauges } from './pool-gauges.ts';
import { TransitionGauge } from './transition-gauge.ts';
import { VmMetrics } from './vm-metrics.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** Creates a worker's Prometheus metrics. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    objects: new Gauge({
      name: 'drover_cached_objects',
      help: 'Objects in the watch cache.',
      labelNames: ['resource'],
      registers,
    }),
    watchErrors: new Counter({
      name: 'drover_watch_errors_total',
      help: 'Watches that broke and were made again.',
      labelNames: ['resource'],
      registers,
    }),
    serverLost: new Gauge({
      name: 'drover_api_server_lost',
      help: '1 while this worker takes no work, for the API server does not answer it.',
      registers,
    }),
    missedEvents: new Counter({
      name: 'drover_missed_events_total',
      help: 'Changes that a relist found and no watch event had told.',
      labelNames: ['resource'],
      registers,
    }),
    failedVmis: new Counter({
      name: 'drover_failed_vmis_total',
      help: 'VMIs of VMs that ran and then failed; KubeVirt recovers them. Every worker counts all of them.',
      labelNames: ['namespace'],
      registers,
    }),
    failedPlans: new Counter({
      name: 'drover_failed_plans_total',
      help: 'Plans of a pool that could not be made for an error in a decision; its condition Stalled says why.',
      labelNames: ['namespace', 'pool'],
      registers,
    }),
    failedSetPlans: new Counter({
      name: 'drover_failed_set_plans_total',
      help: 'Plans of a replica set that could not be made for an error in a decision; its condition Stalled says why.',
      labelNames: ['namespace', 'set'],
      registers,
    }),
    faults: new Counter({
      name: 'drover_faults_total',
      help: 'Errors that nobody has caught: the worker ends for one, and is to be started again.',
      labelNames: ['kind'],
      registers,
    }),
    pools: new PoolGauges(registry),
    vms: new VmMetrics(registry),
    healing: new HealingGauges(registry),
    healingReplacements: new Counter({
      name: 'drover_healing_replacements_total',
      help: 'Sick VMs that this worker has taken down to be recreated: one an attempt.',
      labelNames: ['namespace', 'pool'],
      registers,
    }),
    machineTypes: new TransitionGauge(registry),
    machineTypesPatched: new Counter({
      name: 'drover_machine_types_patched_total',
      help: 'VMs whose machine type this worker has changed.',
      registers,
    }),
    machineTypesRestarted: new Counter({
      name: 'drover_machine_types_restarted_total',
      help: 'VMs that this worker has restarted for their new machine type.',
      registers,
    }),
    failedSignals: new Counter({
      name: 'drover_failed_signals_total',
      help: 'Signals that did not reach Temporal.',
      registers,
    }),
  };
}
