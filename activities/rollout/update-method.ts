import { graceOf } from '../../decisions/disruption/grace.ts';
import { activeVmi, isDown, isMeantToRun } from '../../decisions/health/availability.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { BatchVm, UpdateOutcome } from '../../decisions/owners/batch.ts';
import { isQueued } from '../../decisions/rollout/state/queue.ts';
import { roomToStep, STEP_IS_FULL, whyNotOnRecord } from '../../decisions/rollout/turns/on-record.ts';
import { needsRoom, roomIn } from '../../decisions/rollout/turns/room.ts';
import { batchStop } from '../../decisions/rollout/turns/stop.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { isRegular, type VmView } from '../../decisions/views/vm.ts';
import { ofMembers } from '../cache/changes.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { NoPlace } from '../disruption-budget/in-place.ts';
import type { Aside, Begun, DisruptionMethod, Followed, Turn, WaveProgress, WaveStop } from '../disruption/method.ts';
import { Refusals } from '../disruption/refusals.ts';
import type { PodMigrator } from './migrate-pods.ts';
import type { UpdateRequest } from './update-request.ts';
import type { VmFollower } from './vm-follower.ts';
import type { VmUpdater } from './vm-updater.ts';

/** The only budget is that of the pool. */
const OWN_BUDGET = '';
const GONE: WaveStop = { stop: 'superseded', why: 'its pool is gone' };

interface UpdateMethodOptions {
  cache: ClusterCache;
  request: UpdateRequest;
  updater: VmUpdater;
  migrator: PodMigrator;
  follower: VmFollower;
}

/** Brings VMs of a pool to another revision. */
export class UpdateMethod implements DisruptionMethod<BatchVm, UpdateOutcome> {
  readonly #cache: ClusterCache;
  readonly #request: UpdateRequest;
  readonly #updater: VmUpdater;
  readonly #migrator: PodMigrator;
  readonly #follower: VmFollower;
  readonly #refusals = new Refusals();

  constructor({ cache, request, updater, migrator, follower }: UpdateMethodOptions) {
    this.#cache = cache;
    this.#request = request;
    this.#updater = updater;
    this.#migrator = migrator;
    this.#follower = follower;
  }

  /** Whether it is about the pool, or a VM of the pool. */
  readonly concerns = ofMembers((changed) => this.#follower.isAbout(changed));

  get minVersions(): ResourceVersions {
    return maxVersions(this.#updater.minVersions, this.#migrator.minVersions);
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
    if (stop !== null) return { stop: stop.isSuperseded ? 'superseded' : 'stopped', why: stop.why };
    const hasFailed = failed > (mayFail ?? Infinity);
    return hasFailed ? { stop: 'stopped', why: 'more VMs have failed than maxFailures allows' } : null;
  }

  get known(): { begun: { held: BatchVm; begun: Begun }[]; halfDone: BatchVm[] } {
    const { vms, revision } = this.#request;
    const known = new Map(this.#request.begun.map((one) => [one.vm, one]));
    // What has drifted is looked at by who acts on it.
    const queue = { vmiOf: (one: VmView) => this.#cache.vmiOf(one), hasDrift: () => true };
    const isHalfDone = (held: BatchVm): boolean =>
      !known.has(held.name) && !isQueued(held, revision, this.#follower.vmOf(held.name), queue);
    const begunOf = (held: BatchVm) => (known.has(held.name) ? [{ held, begun: known.get(held.name)! }] : []);
    return { begun: vms.flatMap(begunOf), halfDone: vms.filter(isHalfDone) };
  }

  turn({ busy, ended }: WaveProgress, now: number): Turn<BatchVm> {
    const waiting = this.#request.vms.filter(({ name }) => !busy.has(name) && !ended.has(name));
    const { next, full = this.#refusals.whyNot(OWN_BUDGET, now) } = this.#chosen(waiting, busy, now);
    const whyNot = full ?? 'the disruption budget is used up';
    return { next, waiting, open: waiting.length, whyNot, dueAt: Infinity, times: this.#refusals.times };
  }

  /** VMs to start on now; `full`: what holds the others back, if it is not the budget. */
  #chosen(waiting: readonly BatchVm[], busy: ReadonlySet<string>, now: number): { next: BatchVm[]; full?: string } {
    const pool = this.#pool();
    if (pool === undefined || waiting.length === 0) return { next: [] };
    const full = whyNotOnRecord(pool, this.#request);
    if (full !== null) return { next: [], full };
    const vms = (): VmView[] => this.#cache.vms.ownedBy('VirtualMachinePool', pool.metadata);
    const vmiOf = (vm: VmView) => this.#cache.vmiOf(vm);
    const isFull = this.#refusals.whyNot(OWN_BUDGET, now) !== null;
    let room = isFull ? 0 : roomIn({ pool, vms: vms(), vmiOf, onTheirWay: busy, now });
    let toStep = roomToStep({ ...this.#request, pool, vms, vmiOf, onTheirWay: busy }) ?? Infinity;
    const next = waiting.filter((held) => {
      const [costs, advances] = [this.#costs(held), this.#advances(held)];
      if ((costs && room <= 0) || (advances && toStep <= 0)) return false;
      room -= Number(costs);
      toStep -= Number(advances);
      return true;
    });
    return { next, ...(toStep <= 0 && { full: STEP_IS_FULL }) };
  }

  /** Whether it gets the revision only now, as a replica: so many may before a step. */
  #advances({ name }: BatchVm): boolean {
    const vm = this.#follower.vmOf(name);
    return vm !== undefined && isRegular(vm) && vm.revision !== this.#request.revision;
  }

  #costs(held: BatchVm): boolean {
    const vm = this.#follower.vmOf(held.name);
    return vm !== undefined && needsRoom(held, vm, this.#cache.vmiOf(vm));
  }

  begin({ name, wasDown }: BatchVm, now: number, isNew: boolean): Begun {
    const vm = this.#follower.vmOf(name);
    const vmi = vm && this.#cache.vmiOf(vm);
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

  async take(held: BatchVm, _begun: Begun, aside: Aside): Promise<UpdateOutcome | NoPlace | null> {
    // It is made again by the batch.
    if (held.act === 'replace') return null;
    const actor = held.act === 'migrate' ? this.#migrator : this.#updater;
    const outcome = await actor.take(held, aside);
    if (outcome instanceof NoPlace) this.#refusals.note(OWN_BUDGET, outcome.whyNot);
    else this.#refusals.forget(OWN_BUDGET);
    return outcome;
  }

  follow(held: BatchVm, begun: Begun, now: number): Promise<Followed<UpdateOutcome>> {
    return this.#follower.follow(held, begun, now);
  }

  givenBack({ name: vm }: BatchVm, { stop, why }: WaveStop): UpdateOutcome {
    if (stop === 'failing') return { vm, end: 'Deferred', why, isOwn: true };
    return stop === 'superseded'
      ? { vm, end: 'Superseded' }
      : { vm, end: stop === 'full' ? 'Deferred' : 'NotBegun', why };
  }

  isNews({ end }: UpdateOutcome): boolean {
    return end !== 'Updated';
  }

  #pool(): StoredPool | undefined {
    const { namespace, name, uid } = this.#request.key;
    const pool = this.#cache.pools.get(`${namespace}/${name}`);
    return pool?.metadata.uid === uid ? pool : undefined;
  }
}
