import type { RolloutStatus } from '../../api/pool/pool.ts';
import { deferred, type Deferred } from '../disruption/need.ts';
import { migrationOverdueAt } from '../disruption/overdue.ts';
import { isDown, isMeantToRun } from '../health/availability.ts';
import { formatNames } from '../lib/names.ts';
import type { UpdateAct } from '../owners/batch.ts';
import { settlesAt } from '../template/content.ts';
import { isRegular, isStandby, type VmView } from '../views/vm.ts';
import { updateNeed, type RolloutTarget, type UpdateNeed } from '../vm-update/need.ts';
import { reservedNames } from './reserved-names.ts';
import { standbyNeed, standbyTarget } from './standby-need.ts';
import type { RolloutContext } from './state/context.ts';
import type { DeferredVm } from './state/deferred.ts';
import { failedIn } from './state/state.ts';

/** A VM, and what an update would do to it. */
export interface Candidate extends Omit<Extract<UpdateNeed, { need: 'act' }>, 'need'> {
  vm: VmView;
  /** Taking it makes no VM unavailable that is not so already. */
  down: boolean;
  /** The last batch that took it gave it back for a reason of this VM's: others come first. */
  wasDeferred: boolean;
}

export interface RolloutNeeds {
  /** VMs that may be taken. */
  free: Candidate[];
  /** How many VMs are left alone for reasons other than that their owners ask for it. */
  excluded: number;
  /** How many of these have failed in this rollout. */
  failed: number;
  /** How many VMs must be waited for; `laterRunning`: how many of these run, or should. */
  later: number;
  laterRunning: number;
}

/** Returns what the VMs that nothing is working on need to reach the target's revision. */
export function rolloutNeeds(context: RolloutContext, state: RolloutStatus, target: RolloutTarget): RolloutNeeds {
  const { vmiOf, busy, batches, queued, vms } = context.input;
  const tally = new NeedsTally(context, failedIn(state));
  if (context.spec.update.kind === 'unmanaged') return { ...tally.needs, excluded: unmanaged(context, target) };
  const { reserved } = reservedNames(batches, vms, () => false);
  const inProgress = new Set([...reserved, ...queued.map(({ name }) => name)]);
  const ofStandby = standbyTarget(target);
  const deferredBefore = deferredVms(context, target);
  for (const vm of unlabelledIn(context)) tally.addUnlabelled(vm);
  for (const vm of [...context.standby, ...context.active]) {
    const before = deferredBefore.get(vm.name);
    // A VM that is just tried again is still said to wait: the status would change with each try.
    if (inProgress.has(vm.name) && waitsAgain(before)) tally.addReason('Vms', vm, before.message);
    if (inProgress.has(vm.name) || busy.has(vm.name)) continue;
    const wanted = isStandby(vm) ? standbyNeed(vm, vmiOf, ofStandby) : updateNeed(vm, vmiOf, target);
    tally.add(vm, inTime(context, vm, wanted, before), before !== undefined);
  }
  tally.report();
  return tally.needs;
}

class NeedsTally {
  readonly needs: RolloutNeeds = { free: [], excluded: 0, failed: 0, later: 0, laterRunning: 0 };
  readonly #context: RolloutContext;
  readonly #hasFailed: (vm: VmView) => boolean;
  readonly #namesByReason = { Stuck: new Map<string, string[]>(), Vms: new Map(), Left: new Map() };

  constructor(context: RolloutContext, hasFailed: (vm: VmView) => boolean) {
    this.#context = context;
    this.#hasFailed = hasFailed;
  }

  add(vm: VmView, need: UpdateNeed, wasDeferred: boolean): void {
    const { vmiOf } = this.#context.input;
    if (need.need === 'nothing') return;
    if (need.need === 'excluded') return this.#exclude(vm, need.message);
    if (need.need === 'deferred') return this.#defer(vm, need);
    if (this.#hasFailed(vm)) return this.#excludeFailed(vm);
    const { need: _act, ...update } = need;
    const down = !isRegular(vm) || isDown(vm, vmiOf(vm));
    this.needs.free.push({ vm, ...update, down, wasDeferred });
  }

  addUnlabelled(vm: VmView): void {
    this.needs.later++;
    this.addReason('Vms', vm, 'it lacks labels of its pool, which drover adds first');
  }

  addReason(kind: 'Stuck' | 'Vms' | 'Left', { name }: VmView, message: string): void {
    const names = this.#namesByReason[kind];
    names.set(message, [...(names.get(message) ?? []), name]);
  }

  #exclude(vm: VmView, message: string): void {
    // Not counted, because an opt-out lasts: the current revision would never advance, and a later undo would take all
    // other VMs back by several rollouts.
    if (!vm.optedOut) this.needs.excluded++;
    this.addReason('Left', vm, message);
  }

  #excludeFailed(vm: VmView): void {
    this.needs.excluded++;
    this.needs.failed++;
    this.addReason('Left', vm, 'it has failed in this rollout');
  }

  #defer(vm: VmView, need: Deferred): void {
    const { waits, input } = this.#context;
    if (need.until !== null) waits.requeue(need.until);
    this.needs.later++;
    if (isRegular(vm) && isMeantToRun(vm, input.vmiOf(vm))) this.needs.laterRunning++;
    this.addReason(isStuck(this.#context, vm, need) ? 'Stuck' : 'Vms', vm, need.message);
  }

  /** Says what VMs wait for. If the rollout can do nothing else, it is stuck if VMs are. */
  report(): void {
    const { waits, input } = this.#context;
    const isIdle = this.needs.free.length === 0 && input.batches.length === 0;
    for (const kind of ['Stuck', 'Vms', 'Left'] as const) {
      const sentences = [...this.#namesByReason[kind]].map(([message, names]) => `${formatNames(names)}: ${message}`);
      // The order of VMs in a snapshot is arbitrary and must not change the wording.
      for (const sentence of sentences.toSorted()) waits.for(kind === 'Stuck' && !isIdle ? 'Vms' : kind, sentence);
    }
  }
}

/** Whether the VM may be waited for forever: the migration of another client may never end either. */
function isStuck(
  { input: { vmiOf, now }, waits }: RolloutContext,
  vm: VmView,
  { isStuck: is = false }: Deferred,
): boolean {
  const migration = vmiOf(vm)?.migration ?? null;
  if (is || migration === null) return is;
  const at = migrationOverdueAt(migration);
  waits.requeue(at);
  return at <= now;
}

const unlabelledIn = ({ input: { unlabelled }, active }: RolloutContext): VmView[] =>
  unlabelled === undefined ? [] : active.filter(({ name }) => unlabelled.has(name));

/** VMs that batches to the target's revision have given back for reasons of these VMs, by name. */
const deferredVms = ({ input }: RolloutContext, target: RolloutTarget): Map<string, DeferredVm> =>
  new Map((input.deferred ?? []).filter(({ revision }) => revision === target.revision).map((one) => [one.vm, one]));

/** A VM whose first correction holds waits for nothing. */
const waitsAgain = (before: DeferredVm | undefined): before is DeferredVm =>
  before !== undefined && (before.corrected !== true || before.tries > 1);

/** What is not tried again at once after a VM was given back. */
const PUT_OFF: ReadonlySet<UpdateAct> = new Set(['migrate', 'restart', 'replace']);

/** A VM that is being moved is taken once it is there, and what has changed in this very second is read after it. */
function inTime(
  { input: { now, evacuating } }: RolloutContext,
  vm: VmView,
  need: UpdateNeed,
  givenBack: DeferredVm | undefined,
): UpdateNeed {
  if (need.need !== 'act') return need;
  const isPutOff = givenBack?.corrected === true ? need.setsRight === true : PUT_OFF.has(need.act);
  if (givenBack !== undefined && now < givenBack.notBefore && isPutOff)
    return deferred(givenBack.message, givenBack.notBefore);
  if (evacuating.has(vm.name)) return deferred('it is being moved off its node');
  const until = need.change === undefined ? null : settlesAt(need.change, now);
  return until === null ? need : deferred(`${need.change!.what} has just changed`, until);
}

function unmanaged(context: RolloutContext, { revision }: RolloutTarget): number {
  const others = context.active.filter((vm) => !context.isOf(vm, revision));
  if (others.length > 0)
    context.waits.for('Left', `${formatNames(others.map((vm) => vm.name))}: not managed by drover`);
  return others.length;
}
