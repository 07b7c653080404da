import { DisruptionBudget } from '../../decisions/disruption-budget/budget.ts';
import { countsFrom, graceOf } from '../../decisions/disruption/grace.ts';
import { liveUpdateCountsFrom, migrationCountsFrom } from '../../decisions/disruption/migration.ts';
import { activeVmi, isDown, isMeantToRun, liveVmi, type VmiOf } from '../../decisions/health/availability.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { BatchVm, UpdateOutcome } from '../../decisions/owners/batch.ts';
import { isQueued } from '../../decisions/rollout/state/queue.ts';
import { needsBudget } from '../../decisions/rollout/turns/needs-budget.ts';
import { remainingToStep, STEP_IS_FULL } from '../../decisions/rollout/turns/step.ts';
import { batchStop } from '../../decisions/rollout/turns/stop.ts';
import type { PoolTemplate } from '../../decisions/template/template.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { isOwnedBy, isRegular, type VmView } from '../../decisions/views/vm.ts';
import { isFinal, type VmiView } from '../../decisions/views/vmi.ts';
import { progressOf, type UpdateProgress } from '../../decisions/vm-update/progress.ts';
import type { ClusterAccess } from '../cache/access.ts';
import { ofMembers } from '../cache/changes.ts';
import { remembered } from '../cache/remembered.ts';
import { claimant, NotAdmitted } from '../disruption-budget/claim.ts';
import type { DisruptionClaims } from '../disruption-budget/disruption-claims.ts';
import type { Begun, DisruptionMethod, Followed, Turn, WaveProgress, WaveStop } from '../disruption/method.ts';
import { Refusals } from '../disruption/refusals.ts';
import { migrationBy } from './update-migration.ts';
import type { UpdateRequest } from './update-request.ts';
import type { VmUpdater } from './vm-updater.ts';

const GONE: WaveStop = { stop: 'superseded', message: 'its pool is gone' };

interface UpdateMethodOptions extends Pick<ClusterAccess, 'cache'> {
  claims: DisruptionClaims;
  request: UpdateRequest;
  updater: VmUpdater;
  template: PoolTemplate;
  /** The template with what its instance type and preference stand for; absent if it refers to none. */
  expanded: PoolTemplate | undefined;
}

/**
 * Brings VMs of a pool to another revision, and follows them until they are available at it, can't get there, or are
 * late.
 */
export class UpdateMethod implements DisruptionMethod<BatchVm, UpdateOutcome> {
  readonly #in: UpdateMethodOptions;
  readonly #request: UpdateRequest;
  readonly #refusals = new Refusals();
  #live: { at: number; vmis: readonly VmiView[] } | null = null;

  constructor(options: UpdateMethodOptions) {
    this.#in = options;
    this.#request = options.request;
  }

  /** Whether it is about the pool, or a VM of the pool. */
  readonly concerns = ofMembers(({ kind, namespace, name }) => {
    const { key } = this.#request;
    return namespace === key.namespace && (kind === 'pool' ? name === key.name : this.#vmOf(name) !== undefined);
  });

  get minVersions(): ResourceVersions {
    return this.#in.updater.minVersions;
  }

  keyOf(name: string): string {
    return `${this.#request.key.namespace}/${name}`;
  }

  stop(outcomes: readonly UpdateOutcome[], now: number): WaveStop | null {
    const { mayFail } = this.#request;
    const pool = this.#pool();
    if (pool === undefined) return GONE;
    const failed = outcomes.filter(({ end, wasDown }) => end === 'Failed' && wasDown !== true).length;
    const stop = batchStop(pool, this.#request, now);
    if (stop !== null) return { stop: stop.isSuperseded ? 'superseded' : 'stopped', message: stop.message };
    const hasFailed = failed > (mayFail ?? Infinity);
    return hasFailed ? { stop: 'stopped', message: 'more VMs have failed than maxFailures allows' } : null;
  }

  get known(): { begun: { item: BatchVm; begun: Begun }[]; halfDone: BatchVm[] } {
    const { vms, revision } = this.#request;
    const known = new Map(this.#request.begun.map((one) => [one.vm, one]));
    // What has drifted is looked at by who acts on it.
    const queue = { vmiOf: this.#vmiOf, hasDrift: () => true };
    const isHalfDone = (item: BatchVm): boolean =>
      !known.has(item.name) && !isQueued(item, revision, this.#vmOf(item.name), queue);
    const begunOf = (item: BatchVm) => (known.has(item.name) ? [{ item, begun: known.get(item.name)! }] : []);
    return { begun: vms.flatMap(begunOf), halfDone: vms.filter(isHalfDone) };
  }

  turn({ busy, ended }: WaveProgress, now: number): Turn<BatchVm> {
    const waiting = this.#request.vms.filter(({ name }) => !busy.has(name) && !ended.has(name));
    const { next, full = this.#refusals.any(now) } = this.#chosen(waiting, busy, now);
    const whyNot = full ?? 'the disruption budget is used up';
    return { next, waiting, open: waiting.length, whyNot, dueAt: Infinity, times: this.#refusals.times };
  }

  /** VMs to start on now; `full`: what holds the others back, if it is not the budget. */
  #chosen(waiting: readonly BatchVm[], busy: ReadonlySet<string>, now: number): { next: BatchVm[]; full?: string } {
    const pool = this.#pool();
    if (pool === undefined || waiting.length === 0) return { next: [] };
    const vms = (): VmView[] => this.#in.cache.vms.ownedBy('VirtualMachinePool', pool.metadata);
    // One look asks for each VMI of the pool several times.
    const vmiOf = remembered(this.#vmiOf);
    const isFull = this.#refusals.whyNot(pool.metadata.uid, now) !== null;
    const isHeld = this.#heldBy(vmiOf, now);
    let remaining = isFull ? 0 : new DisruptionBudget({ pool, vms: vms(), vmiOf, acting: busy, now }).remaining;
    let toStep = remainingToStep({ ...this.#request, pool, vms, vmiOf, onTheirWay: busy }) ?? Infinity;
    const next = waiting.filter((item) => {
      const [costs, advances] = [this.#costs(item, vmiOf), this.#advances(item)];
      if ((costs && remaining <= 0) || (advances && toStep <= 0)) return false;
      if (costs && isHeld(item)) return false;
      remaining -= Number(costs);
      toStep -= Number(advances);
      return true;
    });
    return { next, ...(toStep <= 0 && { full: STEP_IS_FULL }) };
  }

  /** Whether budgets that select the VM have no room for it. */
  #heldBy(vmiOf: VmiOf, now: number): (item: BatchVm) => boolean {
    const known = (uid: string): string | null => this.#refusals.whyNot(uid, now);
    const { claims, updater } = this.#in;
    const look = claims.look();
    const by = claimant();
    return (item) => {
      const vm = this.#vmOf(item.name);
      const asked = { by, reason: 'Rollout', becomes: updater.becomes.get(item.name), ...migrationBy(item) } as const;
      const refusal = vm === undefined ? null : look.whyNot({ vm, vmi: vmiOf(vm), ...asked }, known);
      if (refusal === null) return false;
      if (known(refusal.budget) === null) this.#refusals.add(refusal.budget, refusal.message, refusal.opensAt);
      return true;
    };
  }

  /** Whether it gets the revision only now, as a replica: so many may before a step. */
  #advances({ name }: BatchVm): boolean {
    const vm = this.#vmOf(name);
    return vm !== undefined && isRegular(vm) && vm.revision !== this.#request.revision;
  }

  #costs(item: BatchVm, vmiOf: VmiOf): boolean {
    const vm = this.#vmOf(item.name);
    return vm !== undefined && needsBudget(item, vm, vmiOf(vm));
  }

  begin({ name, wasDown }: BatchVm, now: number, isNew: boolean): Begun {
    const vm = this.#vmOf(name);
    const vmi = vm && this.#vmiOf(vm);
    const isOut = vm !== undefined && isRegular(vm) && isDown(vm, vmi);
    const outSince = vm?.notReadySince ?? now;
    const since = isNew || outSince < this.#request.startedAt ? now : outSince;
    return {
      vm: name,
      since,
      ...(vm !== undefined && isMeantToRun(vm, vmi) ? graceOf(isNew ? activeVmi(vm, vmi) : vmi) : {}),
      ...((isNew ? isOut : wasDown) && { wasDown: true }),
    };
  }

  async execute(item: BatchVm): Promise<UpdateOutcome | NotAdmitted | null> {
    // It is made again by the batch.
    if (item.act === 'replace') return null;
    const outcome = await this.#in.updater.execute(item);
    const { uid: own } = this.#request.key;
    if (!(outcome instanceof NotAdmitted)) this.#refusals.forget(own);
    else this.#refusals.add(outcome.budget?.uid ?? own, outcome.whyNot, outcome.budget?.opensAt);
    return outcome;
  }

  /** Writes only to a VMI that has taken a live update: the revision that it now runs. */
  async follow(item: BatchVm, begun: Begun, now: number): Promise<Followed<UpdateOutcome>> {
    const { expanded, template, updater } = this.#in;
    const { revision, minReadyMs, deadlineMs } = this.#request;
    const vm = this.#vmOf(item.name);
    const vmiOf = this.#vmiOf;
    const expansion = expanded && { of: template, to: expanded };
    const progress = progressOf({ item, revision, vm, vmiOf, expansion, minReadyMs, now });
    const updated = progress.state === 'applied' ? liveVmi(vmiOf(vm!)) : undefined;
    if (updated !== undefined) await updater.label(updated, true);
    const deadline = this.#countsFrom(item, begun, vm, now) + deadlineMs;
    const outcome = outcomeOf(item, begun, progress, now >= deadline);
    const until = progress.state === 'waiting' ? progress.until : undefined;
    return { outcome, isLate: outcome?.end === 'Failed', times: [deadline, ...(until === undefined ? [] : [until])] };
  }

  /** The VMIs of the batch that KubeVirt changes while they run: once for all looks of one time. */
  #updatedLive(now: number): readonly VmiView[] {
    if (this.#live?.at === now) return this.#live.vmis;
    const vms = this.#request.vms.filter(({ act }) => act === 'live').map(({ name }) => this.#vmOf(name));
    const vmis = vms.flatMap((vm) => (vm && this.#vmiOf(vm)) ?? []);
    this.#live = { at: now, vmis };
    return vmis;
  }

  /** From when the time of a VM counts, in milliseconds since the epoch. */
  #countsFrom({ act, vmi: restarted, migration }: BatchVm, begun: Begun, vm: VmView | undefined, now: number): number {
    const { revision, deadlineMs } = this.#request;
    const vmi = vm && this.#vmiOf(vm);
    if (migration !== undefined && vmi?.uid === migration.vmi && vmi.evacuation?.attempt === migration.attempt)
      return migrationCountsFrom(vmi, begun.since, deadlineMs, now);
    if (act === 'live' && vmi !== undefined && vmi.revision !== revision && !vmi.deleting && !isFinal(vmi))
      return liveUpdateCountsFrom(vmi, this.#updatedLive(now), begun.since, now);
    const isOld = (one: VmiView): boolean => one.deleting || one.revision !== revision || one.uid === restarted;
    return countsFrom(begun, vm, vmi, isOld);
  }

  givenBack({ name: vm }: BatchVm, { stop, message }: WaveStop): UpdateOutcome {
    if (stop === 'failing') return { vm, end: 'Deferred', message, isOwn: true };
    return stop === 'superseded'
      ? { vm, end: 'Superseded' }
      : { vm, end: stop === 'full' ? 'Deferred' : 'NotBegun', message };
  }

  isNews({ end }: UpdateOutcome): boolean {
    return end !== 'Updated';
  }

  /** The pool's VM of this name, as this worker's cache has it. */
  #vmOf(name: string): VmView | undefined {
    const { key } = this.#request;
    const vm = this.#in.cache.vms.get(`${key.namespace}/${name}`);
    return vm !== undefined && isOwnedBy(vm, 'VirtualMachinePool', key) ? vm : undefined;
  }

  readonly #vmiOf: VmiOf = (vm) => this.#in.cache.vmiOf(vm);

  #pool(): StoredPool | undefined {
    const { namespace, name, uid } = this.#request.key;
    const pool = this.#in.cache.pools.get(`${namespace}/${name}`);
    return pool?.metadata.uid === uid ? pool : undefined;
  }
}

function outcomeOf(
  { name: vm }: BatchVm,
  { wasDown }: Begun,
  progress: UpdateProgress,
  isLate: boolean,
): UpdateOutcome | null {
  const failed = (message: string): UpdateOutcome => ({
    vm,
    end: 'Failed',
    message,
    ...(wasDown === true && { wasDown }),
  });
  switch (progress.state) {
    case 'well':
      return { vm, end: 'Updated' };
    case 'gone':
      return { vm, end: 'Gone' };
    case 'refused':
      return { vm, end: 'RestartRequired', message: progress.message };
    case 'failed':
      return failed(progress.message);
    case 'applied':
      return null;
    case 'waiting':
      return isLate ? failed(`not ready in time: ${progress.why}`) : null;
  }
}
