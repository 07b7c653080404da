import { Counter, type Registry } from 'prom-client';
import { ownerName } from '../../activities/owners/owner-key.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import { isFinal, type VmiView } from '../../decisions/views/vmi.ts';
import { StatusGauges } from './status-gauges.ts';

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

/** Starts and stops of the VMs of pools, and how long starts took. Of single phases, KubeVirt has metrics. */
export class VmMetrics {
  readonly #starts: Counter<'namespace' | 'pool'>;
  readonly #stops: Counter<'namespace' | 'pool'>;
  readonly #startSeconds: Counter<'namespace' | 'pool'>;
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
  }

  /** `shouldReport`: false for what existed before this worker watched, and while another one does. */
  change({ before, after }: VmiChange, poolOf: (vmi: VmiView) => PoolLabels | null, shouldReport: boolean): void {
    if (before !== undefined && before.uid !== after?.uid) this.#stopped(before, shouldReport);
    if (after === undefined || (before?.uid === after.uid && before.phase === after.phase)) return;
    const pool = this.#running.get(after.uid) ?? poolOf(after);
    if (pool === null) return;
    if (after.phase === 'Running' && !this.#running.has(after.uid)) {
      this.#running.set(after.uid, pool);
      if (shouldReport) this.#started(pool, after);
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

  #started(pool: PoolLabels, { phaseSince, createdAt }: VmiView): void {
    this.#count(this.#starts, pool);
    if (phaseSince !== null) this.#count(this.#startSeconds, pool, Math.max(0, phaseSince - createdAt) / 1000);
  }
}
