import { withDefaults, type CompletePoolSpec } from '../../api/pool-defaults.ts';
import type { RolloutStatus } from '../../api/pool/pool.ts';
import { isStaying, liveVmi, type VmiOf } from '../disruption-budget/availability.ts';
import { poolTemplate, type PoolTemplate } from '../pool/template.ts';
import { revisionOf } from '../revisions/hash.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import type { Batch } from './batch.ts';
import { RolloutWaits } from './waits.ts';

export interface RolloutInput {
  pool: StoredPool;
  /** All VMs that the pool owns. */
  vms: readonly VmView[];
  vmiOf: VmiOf;
  /** Template of a revision of the pool; undefined where it is no longer kept. */
  templateOf: (revision: string) => PoolTemplate | undefined;
  /** How KubeVirt takes changes in running VMs, where the pool itself says nothing. */
  strategy: 'Stage' | 'LiveUpdate';
  /** How the rollout stands; null where nobody knows of one. */
  state: RolloutStatus | null;
  batches: readonly Batch[];
  /** VMs that other acts of drover have in hand, by name. */
  busy: ReadonlySet<string>;
  /** Whether healing looks after the VM, and has not given it up. */
  isHealed: (vm: VmView) => boolean;
  /** No batch begins before; milliseconds since the epoch. */
  notBefore: number;
  /** VMs in hand at once at most. */
  burst: number;
  /** Milliseconds since the epoch. */
  now: number;
}

/** What a rollout is planned from, and what the plan finds that it waits for. */
export class RolloutContext {
  readonly input: RolloutInput;
  readonly spec: CompletePoolSpec;
  /** VMs that nobody has deleted. */
  readonly staying: readonly VmView[];
  /** The revision of the template. */
  readonly newest: string;
  /** The last revision that all VMs had but those that opted out. */
  readonly current: string;
  /** RFC 3339. */
  readonly now: string;
  readonly waits: RolloutWaits;

  constructor(input: RolloutInput) {
    this.input = input;
    this.spec = withDefaults(input.pool.spec);
    this.staying = input.vms.filter(isStaying);
    this.newest = revisionOf(poolTemplate(this.spec));
    this.current = input.pool.status?.currentRevision ?? this.#mostCommon();
    this.now = new Date(input.now).toISOString();
    this.waits = new RolloutWaits(input.now);
  }

  /** A person, a failure or the pool itself holds every further batch back. */
  isStopped({ halted, paused }: RolloutStatus): boolean {
    const isDeleted = this.input.pool.metadata.deletionTimestamp !== undefined;
    return isDeleted || this.spec.paused || paused !== undefined || (halted !== undefined && halted.kind !== 'Undoing');
  }

  /** Its spec is of the revision, and so is its guest, if it has one. */
  isOf(vm: VmView, revision: string): boolean {
    const guest = liveVmi(this.input.vmiOf(vm));
    return vm.revision === revision && (guest === undefined || guest.revision === revision);
  }

  /** Some VM is of the revision, or there is none that could be. */
  hasTaken(revision: string): boolean {
    return this.staying.length === 0 || this.staying.some((vm) => this.isOf(vm, revision));
  }

  /** Where no status tells it: the revision that most VMs have, of those that are kept. */
  #mostCommon(): string {
    const counts = new Map<string, number>();
    for (const { revision } of this.staying)
      if (revision !== null) counts.set(revision, (counts.get(revision) ?? 0) + 1);
    const kept = [...counts].filter(([revision]) => this.input.templateOf(revision) !== undefined);
    const isNewest = (revision: string): number => Number(revision === this.newest);
    // Of two that as many have it is not the newest, and the same one whatever order their VMs are read in.
    kept.sort(
      ([one, ones], [other, others]) => others - ones || isNewest(one) - isNewest(other) || (one < other ? -1 : 1),
    );
    return kept[0]?.[0] ?? this.newest;
  }
}
