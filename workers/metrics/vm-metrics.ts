import { Counter, Histogram, type Registry } from 'prom-client';
import { ownerName } from '../../activities/owners/owner-key.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
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
  help: 'VMs that wait for a restart, by their condition RestartRequired; without a pool if none owns them.',
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
 * Starts and stops of the VMs of pools, and how long their VMIs take from phase to phase. Of that, each pool has few
 * series, however many VMs: phases and buckets are of all pools together.
 */
export class VmMetrics {
  readonly #starts: Counter<'namespace' | 'pool'>;
  readonly #stops: Counter<'namespace' | 'pool'>;
  readonly #startSeconds: Counter<'namespace' | 'pool'>;
  readonly #transitions: Histogram<'last_phase' | 'phase'>;
  readonly #sinceCreation: Histogram<'phase'>;
  /** The pools that have series. */
  readonly #reported = new Map<string, PoolLabels>();
  /** The pools of running VMIs, by the VMI's UID: the VM may be deleted before its VMI. */
  readonly #running = new Map<string, PoolLabels>();

  constructor(registry: Registry) {
    const registers = [registry];
    const labelNames = ['namespace', 'pool'] as const;
    this.#starts = new Counter({
      name: 'drover_vm_starts_total',
      help: 'VMs of a pool that began to run.',
      labelNames,
      registers,
    });
    this.#stops = new Counter({
      name: 'drover_vm_stops_total',
      help: 'VMs of a pool that ran and stopped, whatever the reason.',
      labelNames,
      registers,
    });
    this.#startSeconds = new Counter({
      name: 'drover_vm_start_seconds_total',
      help: 'How long the VMs of a pool that began to run had taken from the creation of their VMIs, in all.',
      labelNames,
      registers,
    });
    this.#transitions = new Histogram({
      name: 'drover_vmi_phase_transition_seconds',
      help: 'How long VMIs of pools took from one phase to the next.',
      labelNames: ['last_phase', 'phase'],
      buckets: SECONDS,
      registers,
    });
    this.#sinceCreation = new Histogram({
      name: 'drover_vmi_phase_transition_from_creation_seconds',
      help: 'How long VMIs of pools took from their creation to a phase.',
      labelNames: ['phase'],
      buckets: SECONDS,
      registers,
    });
  }

  /** `shouldReport`: false for what existed before this worker watched, and while another one does. */
  change({ before, after }: VmiChange, poolOf: (vmi: VmiView) => PoolLabels | null, shouldReport: boolean): void {
    if (before !== undefined && before.uid !== after?.uid) this.#stopped(before, shouldReport);
    if (after === undefined) return;
    const last = before?.uid === after.uid ? before : undefined;
    if (last?.phase === after.phase) return;
    const pool = this.#running.get(after.uid) ?? poolOf(after);
    if (pool === null) return;
    if (shouldReport) this.#time(pool, last, after);
    if (after.phase === 'Running' && !this.#running.has(after.uid)) {
      this.#running.set(after.uid, pool);
      if (shouldReport) this.#count(this.#starts, pool);
    }
    if (isFinal(after)) this.#stopped(after, shouldReport);
  }

  /** Removes the series of all but these pools: the others are gone, or another worker watches them. */
  keep(pools: Iterable<StoredPool>): void {
    const kept = new Set(Array.from(pools, ownerName));
    for (const [key, pool] of this.#reported) {
      if (kept.has(key)) continue;
      this.#reported.delete(key);
      for (const counter of [this.#starts, this.#stops, this.#startSeconds]) counter.remove({ ...pool });
    }
  }

  #count(counter: Counter<'namespace' | 'pool'>, pool: PoolLabels, value = 1): void {
    this.#reported.set(`${pool.namespace}/${pool.pool}`, pool);
    counter.inc({ ...pool }, value);
  }

  #stopped({ uid }: VmiView, shouldReport: boolean): void {
    const pool = this.#running.get(uid);
    if (this.#running.delete(uid) && shouldReport) this.#count(this.#stops, pool!);
  }

  #time(pool: PoolLabels, last: VmiView | undefined, { phase, phaseSince, createdAt }: VmiView): void {
    if (phaseSince === null || phase === '') return;
    const took = seconds(createdAt, phaseSince);
    this.#sinceCreation.observe({ phase }, took);
    if (phase === 'Running') this.#count(this.#startSeconds, pool, took);
    if (last !== undefined && last.phase !== '')
      this.#transitions.observe({ last_phase: last.phase, phase }, seconds(last.phaseSince ?? createdAt, phaseSince));
  }
}

const seconds = (from: number, to: number): number => Math.max(0, to - from) / 1000;
