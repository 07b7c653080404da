import type { RolloutStatus } from '../../../api/pool/pool.ts';
import { withDefaults, type CompletePoolSpec } from '../../../api/rules/pool-defaults.ts';
import { isActive, liveVmi } from '../../health/availability.ts';
import type { Batch } from '../../owners/batch.ts';
import type { PlanInput } from '../../owners/plan-input.ts';
import type { ContentChange } from '../../template/content.ts';
import { revisionOf } from '../../template/revision.ts';
import { poolTemplate } from '../../template/template.ts';
import {
  isRegular,
  isSurge,
  isStandby,
  type RegularVm,
  type SurgeVm,
  type VmView,
  type StandbyVm,
} from '../../views/vm.ts';
import type { VmiView } from '../../views/vmi.ts';
import type { RolloutTarget } from '../../vm-update/need.ts';
import { podActOf, type PodAct } from '../../vm-update/pod-act.ts';
import { podLacks } from '../../vm-update/pod-lack.ts';
import type { DeferredVm } from './deferred.ts';
import type { QueuedVm } from './queue.ts';
import { RolloutWaits } from './waits.ts';

export interface RolloutInput
  extends
    Pick<PlanInput, 'pool' | 'vms' | 'vmiOf' | 'whyHeld' | 'now'>,
    Pick<RolloutTarget, 'templateOf' | 'changeFor' | 'plugs' | 'expandedOf' | 'correction'> {
  /** How KubeVirt applies changes to running VMs, if the pool itself doesn't say. */
  strategy: 'Stage' | 'LiveUpdate';
  /** The labels of a node; undefined or absent if they are unknown. */
  nodeLabelsOf?: (node: string) => Readonly<Record<string, string>> | undefined;
  /** State of the rollout; null if none is known. */
  state: RolloutStatus | null;
  /** With the VMs in progress. */
  batches: readonly Batch[];
  /** VMs of batches whose turn has not come. */
  queued: readonly QueuedVm[];
  /** VMs that batches have given back for reasons of these VMs; absent if there are none. */
  deferred?: readonly DeferredVm[];
  /** Names of VMs that other parts of drover are working on. */
  busy: ReadonlySet<string>;
  /** Names of those of them whose revisions are known only once they have their labels again; absent without. */
  unlabelled?: ReadonlySet<string>;
  /** Names of VMs that are being moved off nodes that are drained: they may go down at any moment. */
  evacuating: ReadonlySet<string>;
  /** Whether healing takes care of the VM and has not given it up. */
  isHealed: (vm: VmView) => boolean;
  /** The pool's members are changing: no batch begins. */
  isChangingMembers: boolean;
  /** No batch begins earlier; milliseconds since the epoch. */
  notBefore: number;
  /** Why VMs can't be created, and since when (RFC 3339); null or absent if nothing has failed. */
  creationFailure?: { message: string; since: string } | null;
}

/** What a rollout is planned from, and what the plan finds the rollout waits for. */
export class RolloutContext {
  readonly input: RolloutInput;
  readonly spec: CompletePoolSpec;
  /** Replicas that stay in the pool: neither terminating nor leaving it. */
  readonly active: readonly RegularVm[];
  /** Standby VMs that stay in the pool: they are updated before replicas, and cost no budget. */
  readonly standby: readonly StandbyVm[];
  /** Extra VMs that stay in the pool. */
  readonly surge: readonly SurgeVm[];
  /** The revision of the pool's template. */
  readonly newest: string;
  /** The last revision that all VMs reached, except opted-out ones. */
  readonly current: string;
  /** RFC 3339. */
  readonly now: string;
  readonly waits: RolloutWaits;
  readonly #podLacks = new Map<string, (vmi: VmiView) => string | null>();

  constructor(input: RolloutInput) {
    this.input = input;
    this.spec = withDefaults(input.pool.spec);
    this.active = input.vms.filter(isRegular).filter(isActive);
    this.standby = input.vms.filter(isStandby).filter(isActive);
    this.surge = input.vms.filter(isSurge).filter(isActive);
    this.newest = revisionOf(poolTemplate(this.spec));
    this.current = input.pool.status?.currentRevision ?? this.#mostCommon();
    this.now = new Date(input.now).toISOString();
    this.waits = new RolloutWaits(input.now);
  }

  /** Reports whether a user, a failure or the pool itself holds back all further batches. */
  isStopped({ halted, paused }: RolloutStatus): boolean {
    const isDeleted = this.input.pool.metadata.deletionTimestamp !== undefined;
    return isDeleted || this.spec.paused || paused !== undefined || (halted !== undefined && halted.kind !== 'Undoing');
  }

  /**
   * Reports whether the VM's spec is of the revision, and so is its VMI, if it has one, with what it has read; and its
   * pod, if the pool has that made again.
   */
  isOf(vm: VmView, revision: string): boolean {
    const vmi = liveVmi(this.input.vmiOf(vm));
    return this.hasRevision(vm, revision) && (vmi === undefined || this.podActFor(vm, vmi, revision) === null);
  }

  /** The same, whatever its pod lacks. */
  hasRevision(vm: VmView, revision: string): boolean {
    const vmi = liveVmi(this.input.vmiOf(vm));
    return (
      vm.revision === revision && (vmi === undefined || (vmi.revision === revision && this.changeFor(vm) === null))
    );
  }

  /** Returns how the VM gets a new pod by the pool's rules; null if its pod lacks nothing of the revision, or stays. */
  podActFor(vm: VmView, vmi: VmiView, revision: string): PodAct | null {
    return isRegular(vm) && this.podLack(vmi, revision) !== null ? podActOf(vmi, this.spec.update) : null;
  }

  /** Returns what the pod of a VMI that is of this revision lacks of it; null if it lacks nothing. */
  podLack(vmi: VmiView, revision: string): string | null {
    const { templateOf, nodeLabelsOf } = this.input;
    const template = revision === this.newest ? poolTemplate(this.spec) : templateOf(revision);
    if (template === undefined) return null;
    const lacks = this.#podLacks.get(revision) ?? podLacks({ template, templateOf, nodeLabelsOf });
    this.#podLacks.set(revision, lacks);
    return lacks(vmi);
  }

  /** Returns what has changed since the VM's VMI has read it as it started; null if nothing has. */
  changeFor(vm: VmView): ContentChange | null {
    const vmi = liveVmi(this.input.vmiOf(vm));
    return vmi === undefined ? null : this.input.changeFor(vm, vmi);
  }

  /** Reports whether some VM is of the revision, or the pool has no VMs. */
  hasReached(revision: string): boolean {
    return this.active.length === 0 || this.active.some((vm) => this.isOf(vm, revision));
  }

  /** Used if no status tells: the revision that most VMs have, among the kept revisions. */
  #mostCommon(): string {
    const counts = new Map<string, number>();
    for (const { revision } of this.active)
      if (revision !== null) counts.set(revision, (counts.get(revision) ?? 0) + 1);
    const kept = [...counts].filter(([revision]) => this.input.templateOf(revision) !== undefined);
    const isNewest = (revision: string): number => Number(revision === this.newest);
    // On a tie, prefers a revision other than the newest, and does not depend on the order in which VMs are read.
    kept.sort(
      ([one, ones], [other, others]) => others - ones || isNewest(one) - isNewest(other) || (one < other ? -1 : 1),
    );
    return kept[0]?.[0] ?? this.newest;
  }
}
