import { Counter, Histogram, type Registry } from 'prom-client';
import type { VmView } from '../../decisions/views/vm.ts';
import { isFinal, type VmiView } from '../../decisions/views/vmi.ts';
import { StatusGauges } from './status-gauges.ts';

/** Buckets for the times of a VMI; KubeVirt reports these in whole seconds. */
const SECONDS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800];

interface PoolLabels {
  namespace: string;
  pool: string;
}

const RESTART_REQUIRED = {
  name: 'drover_vms_restart_required',
  help: 'VMs that wait for a restart, by their condition RestartRequired; without a pool if none owns them. Every worker reports all VMs.',
  read: ({ restartRequired }: VmView): [number][] => (restartRequired === null ? [] : [[1]]),
};

/** VMs that wait for something, of pools and of no pool. */
export const vmGauges = (registry: Registry): StatusGauges<VmView> =>
  new StatusGauges(registry, [RESTART_REQUIRED], ['namespace', 'pool'], ({ namespace, owner }) => ({
    namespace,
    pool: owner?.kind === 'VirtualMachinePool' ? owner.name : '',
  }));

interface VmiChange {
  before: VmiView | undefined;
  after: VmiView | undefined;
}

/**
 * Starts and stops of the VMs of pools, and how long their VMIs take from phase to phase; every worker reports all of
 * them.
 */
export class VmMetrics {
  readonly #starts: Counter<'namespace' | 'pool'>;
  readonly #stops: Counter<'namespace' | 'pool'>;
  readonly #transitions: Histogram<'namespace' | 'pool' | 'last_phase' | 'phase'>;
  readonly #sinceCreation: Histogram<'namespace' | 'pool' | 'phase'>;
  /** The pools of running VMIs, by the VMI's UID: the VM may be deleted before its VMI. */
  readonly #running = new Map<string, PoolLabels>();

  constructor(registry: Registry) {
    const registers = [registry];
    const labelNames = ['namespace', 'pool'] as const;
    const everyWorker = 'Every worker reports all pools.';
    this.#starts = new Counter({
      name: 'drover_vm_starts_total',
      help: `VMs of a pool that began to run. ${everyWorker}`,
      labelNames,
      registers,
    });
    this.#stops = new Counter({
      name: 'drover_vm_stops_total',
      help: `VMs of a pool that ran and stopped, whatever the reason. ${everyWorker}`,
      labelNames,
      registers,
    });
    this.#transitions = new Histogram({
      name: 'drover_vmi_phase_transition_seconds',
      help: `How long VMIs of a pool took from one phase to the next. ${everyWorker}`,
      labelNames: [...labelNames, 'last_phase', 'phase'],
      buckets: SECONDS,
      registers,
    });
    this.#sinceCreation = new Histogram({
      name: 'drover_vmi_phase_transition_from_creation_seconds',
      help: `How long VMIs of a pool took from their creation to a phase. ${everyWorker}`,
      labelNames: [...labelNames, 'phase'],
      buckets: SECONDS,
      registers,
    });
  }

  /** `isNews`: false for what existed before this worker watched. */
  change({ before, after }: VmiChange, poolOf: (vmi: VmiView) => PoolLabels | null, shouldReport: boolean): void {
    if (before !== undefined && before.uid !== after?.uid) this.#stopped(before);
    if (after === undefined) return;
    const last = before?.uid === after.uid ? before : undefined;
    if (last?.phase === after.phase) return;
    const pool = this.#running.get(after.uid) ?? poolOf(after);
    if (pool === null) return;
    if (shouldReport) this.#time(pool, last, after);
    if (after.phase === 'Running' && !this.#running.has(after.uid)) {
      this.#running.set(after.uid, pool);
      if (shouldReport) this.#starts.inc({ ...pool });
    }
    if (isFinal(after)) this.#stopped(after);
  }

  #stopped({ uid }: VmiView): void {
    const pool = this.#running.get(uid);
    if (!this.#running.delete(uid)) return;
    this.#stops.inc({ ...pool! });
  }

  #time(pool: PoolLabels, last: VmiView | undefined, { phase, phaseSince, createdAt }: VmiView): void {
    if (phaseSince === null || phase === '') return;
    this.#sinceCreation.observe({ ...pool, phase }, seconds(createdAt, phaseSince));
    if (last !== undefined && last.phase !== '')
      this.#transitions.observe(
        { ...pool, last_phase: last.phase, phase },
        seconds(last.phaseSince ?? createdAt, phaseSince),
      );
  }
}

const seconds = (from: number, to: number): number => Math.max(0, to - from) / 1000;
