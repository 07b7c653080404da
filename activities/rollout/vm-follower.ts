import { cancellationSignal } from '@temporalio/activity';
import { countsFrom } from '../../decisions/disruption/grace.ts';
import { migrationCountsFrom } from '../../decisions/disruption/migration.ts';
import { liveVmi } from '../../decisions/health/availability.ts';
import type { BatchVm, UpdateOutcome } from '../../decisions/owners/batch.ts';
import type { PoolTemplate } from '../../decisions/template/template.ts';
import { isOwnedBy, type VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { progressOf, type UpdateProgress } from '../../decisions/vm-update/progress.ts';
import type { ClusterAccess } from '../cache/access.ts';
import type { Changed } from '../cache/changes.ts';
import type { Begun, Followed } from '../disruption/method.ts';
import { labelVmi } from '../lib/label-vmi.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import type { Revisions } from './revisions.ts';
import { vmiMetadataPatch } from './vmi-metadata.ts';

interface VmFollowerOptions extends ClusterAccess {
  revisions: Revisions;
  key: PoolKey;
  revision: string;
  template: PoolTemplate;
  /** The template with what its instance type and preference stand for; absent if it refers to none. */
  expanded: PoolTemplate | undefined;
  minReadyMs: number;
  /** How long each VM may take, in milliseconds. */
  deadlineMs: number;
}

/**
 * Follows VMs until they are available at their new revision, can't get there, or are late. Looks at this worker's
 * caches, and writes only to a VMI that has taken a live update: the revision that it now runs.
 */
export class VmFollower {
  readonly #in: VmFollowerOptions;

  constructor(options: VmFollowerOptions) {
    this.#in = options;
  }

  async follow(held: BatchVm, begun: Begun, now: number): Promise<Followed<UpdateOutcome>> {
    const { cache, revision, expanded, template, minReadyMs, deadlineMs } = this.#in;
    const vm = this.vmOf(held.name);
    const progress = progressOf({
      held,
      revision,
      vm,
      vmiOf: (one) => cache.vmiOf(one),
      expansion: expanded && { of: template, to: expanded },
      minReadyMs,
      now,
    });
    if (progress.state === 'applied') await this.#label(vm!);
    const deadline = this.#countsFrom(held, begun, vm, now) + deadlineMs;
    const outcome = outcomeOf(held, begun, progress, now >= deadline);
    const until = progress.state === 'waiting' ? progress.until : undefined;
    return { outcome, isLate: outcome?.end === 'Failed', times: [deadline, ...(until === undefined ? [] : [until])] };
  }

  /** From when the time of a VM counts, in milliseconds since the epoch. */
  #countsFrom({ vmi: restarted, migration }: BatchVm, begun: Begun, vm: VmView | undefined, now: number): number {
    const { cache, revision, deadlineMs } = this.#in;
    const vmi = vm && cache.vmiOf(vm);
    if (migration !== undefined && vmi?.uid === migration.vmi && vmi.evacuation?.attempt === migration.attempt)
      return migrationCountsFrom(vmi, begun.since, deadlineMs, now);
    const isOld = (one: VmiView): boolean => one.deleting || one.revision !== revision || one.uid === restarted;
    return countsFrom(begun, vm, vmi, isOld);
  }

  /** Whether it is the pool, or a VM of the pool. */
  isAbout({ kind, namespace, name }: Changed): boolean {
    const { key } = this.#in;
    return namespace === key.namespace && (kind === 'pool' ? name === key.name : this.vmOf(name) !== undefined);
  }

  /** The pool's VM of this name, as this worker's cache has it. */
  vmOf(name: string): VmView | undefined {
    const { cache, key } = this.#in;
    const vm = cache.vms.get(`${key.namespace}/${name}`);
    return vm !== undefined && isOwnedBy(vm, 'VirtualMachinePool', key) ? vm : undefined;
  }

  /** Writes to the VMI which revision it now runs; leaves it alone if it is another VMI by now. */
  async #label(vm: VmView): Promise<void> {
    const { client, cache, revisions, key, template: to } = this.#in;
    const vmi = liveVmi(cache.vmiOf(vm));
    const from = vmi?.revision == null ? undefined : await revisions.find(key, vmi.revision);
    if (vmi === undefined) return;
    await labelVmi(client, vmi, vmiMetadataPatch(key.name, from ?? to, to, vmi), { signal: cancellationSignal() });
  }
}

function outcomeOf(
  { name: vm }: BatchVm,
  { wasDown }: Begun,
  progress: UpdateProgress,
  isLate: boolean,
): UpdateOutcome | null {
  const failed = (why: string): UpdateOutcome => ({ vm, end: 'Failed', why, ...(wasDown === true && { wasDown }) });
  switch (progress.state) {
    case 'well':
      return { vm, end: 'Updated' };
    case 'gone':
      return { vm, end: 'Gone' };
    case 'refused':
      return { vm, end: 'RestartRequired', why: progress.why };
    case 'failed':
      return failed(progress.why);
    case 'applied':
      return null;
    case 'waiting':
      return isLate ? failed(`not ready in time: it waited for ${progress.for}`) : null;
  }
}
