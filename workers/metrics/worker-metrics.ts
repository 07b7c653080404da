import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import packageJson from '../../package.json' with { type: 'json' };

/** Which release this worker is, and how well it does. */
export function workerMetrics(registry: Registry) {
  const registers = [registry];
  const build = new Gauge({
    name: 'drover_build_info',
    help: '1, with the release of this worker.',
    labelNames: ['version'],
    registers,
  });
  build.set({ version: packageJson.version }, 1);
  const faults = new Counter({
    name: 'drover_uncaught_errors_total',
    help: 'Uncaught errors. Each shuts the worker down, for its supervisor to restart it.',
    labelNames: ['kind'],
    registers,
  });
  // The worker ends soon after the first: an increase can only be seen from a zero that was scraped before.
  for (const kind of ['exception', 'rejection']) faults.inc({ kind }, 0);
  const histogram = (name: string, help: string, buckets: number[]): Histogram<'kind'> =>
    new Histogram({ name, help, labelNames: ['kind'], buckets, registers });
  return {
    faults,
    signalDelay: histogram(
      'drover_signal_delay_seconds',
      'From a change that the watch saw until Temporal had accepted the signal to the workflow that it concerns.',
      [0.05, 0.25, 1, 2.5, 5, 15, 60],
    ),
    planSeconds: histogram(
      'drover_plan_seconds',
      'How long decisions about a pool or a set took; nothing else happens in the worker meanwhile.',
      [0.001, 0.005, 0.025, 0.1, 0.5, 2],
    ),
    watchRunning: new Gauge({
      name: 'drover_watch_running',
      help: '1 while this worker watches the cluster, or one of its namespaces, for all workers, and reports its objects.',
      labelNames: ['served'],
      registers,
    }),
    cacheBehind: new Gauge({
      name: 'drover_cache_behind_seconds',
      help: 'For how long the watch cache has failed to follow the API server; 0 while it follows.',
      labelNames: ['resource'],
      registers,
    }),
  };
}
