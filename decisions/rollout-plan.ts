import { askerOf } from '../api/asked-by.ts';
import { ASKED_BY_ANNOTATION } from '../api/names.ts';
import { countOf } from '../api/int-or-percent.ts';
import { durationMs } from '../api/duration.ts';
import { withDefaults, type CompletePoolSpec } from '../api/pool-defaults.ts';
import type { RolloutStatus, VmTemplate } from '../api/pool.ts';
import { isDown, isMeantToRun, isReady, isStaying, liveVmi, maxUnavailableOf, runningGuest, runsByItself, unavailability, type VmiOf } from './availability.ts';
import type { Batch, HeldVm, UpdateAct } from './batch.ts';
import { namesInWords } from './naming.ts';
import { revisionOf } from './revision.ts';
import { begun, halted, promoted } from './rollout-state.ts';
import { updateOrder } from './selection.ts';
import { standingOf } from './standing.ts';
import { updateNeed, type Goal } from './update-need.ts';
import type { StoredPool } from './vm-from-template.ts';
import type { VmView } from './vm.ts';
import { windowAt } from './windows.ts';

/** VMs of one batch at most: its acts are few enough to be over in a moment, and to be read by a person. */
const MOST_IN_BATCH = 100;
/** Freed budget is gathered for so long, unless a quarter of it has come together before. */
const GATHER_MS = 1_000;
/** A batch that has said nothing for so long beyond its deadline is taken for lost. */
const LOST_AFTER_MS = 15 * 60_000;

export interface RolloutInput {
  pool: StoredPool;
  /** All VMs that the pool owns. */
  vms: readonly VmView[];
  vmiOf: VmiOf;
  /** Template of a revision of the pool; undefined where it is no longer kept. */
  templateOf: (revision: string) => VmTemplate | undefined;
  /** How KubeVirt takes changes in running VMs, where the pool itself says nothing. */
  strategy: 'Stage' | 'LiveUpdate';
  /** How the rollout stands; null where nobody knows of one. */
  state: RolloutStatus | null;
  batches: readonly Batch[];
  /** VMs that other acts of drover have in hand, by name. */
  busy: ReadonlySet<string>;
  /** No batch begins before; milliseconds since the epoch. */
  notBefore: number;
  /** VMs in hand at once at most. */
  burst: number;
  /** Milliseconds since the epoch. */
  now: number;
}

/** `Idle`: VMs that the pool's strategy leaves alone are still of an older revision. */
export type RolloutPhase = 'Complete' | 'RollingOut' | 'Waiting' | 'Paused' | 'Failed' | 'Aborted' | 'Undoing' | 'Undone' | 'Idle';

export interface RolloutPlan {
  state: RolloutStatus;
  phase: RolloutPhase;
  /** The revision of the template. */
  newest: string;
  /** The revision that VMs are brought to, and the last one that all of them had but those that opted out. */
  goal: string;
  current: string;
  update: PlannedBatch | null;
  /** How many steps the pool's rollouts have. */
  steps: number;
  /** Batches to be told that a newer revision has taken their place, and those that are lost; by number. */
  superseded: number[];
  lost: number[];
  /** What the rollout waits for, a sentence each. */
  waits: Wait[];
  /** When time alone changes something; milliseconds since the epoch. */
  wakeAt: number | null;
  /** The revision that new VMs get. */
  forNewVms: string;
  /** VMs whose spec and guest are of the newest revision. */
  updated: number;
}

/** A batch to begin. */
export interface PlannedBatch {
  batch: Omit<Batch, 'startedAt'>;
  /** Who asked for it, as far as that is known. */
  askedBy: string | null;
  minReadyMs: number;
  /** How long its VMs may take to be ready. */
  deadlineMs: number;
  reason: string;
}

export interface Wait {
  kind: 'Approval' | 'Step' | 'Window' | 'Budget' | 'Vms' | 'Left' | 'Delay';
  words: string;
}

/** Where a rollout stands, and the batch that it may begin now: never more than the budget holds, none where it is held. */
export function planRollout(input: RolloutInput): RolloutPlan {
  return new Rollout(input).plan();
}

/** One VM, with what an update would do to it. */
interface Candidate {
  vm: VmView;
  act: UpdateAct;
  down: boolean;
}

interface Needs {
  /** VMs that may be taken. */
  free: Candidate[];
  /** How many are left alone by other than their owners' wish. */
  left: number;
  /** How many must be waited for, and how many of these run, or should. */
  later: number;
  laterRunning: number;
}

/** VMs in the hand of batches, by name. */
interface InHand {
  all: ReadonlySet<string>;
  /** Those that may still go down, or have not come back. */
  unsettled: ReadonlySet<string>;
}

class Rollout {
  readonly #in: RolloutInput;
  readonly #spec: CompletePoolSpec;
  readonly #staying: readonly VmView[];
  readonly #newest: string;
  readonly #current: string;
  readonly #waits: Wait[] = [];
  #state: RolloutStatus;
  #wakeAt: number | null = null;

  constructor(input: RolloutInput) {
    this.#in = input;
    this.#spec = withDefaults(input.pool.spec);
    this.#staying = input.vms.filter(isStaying);
    this.#newest = revisionOf(this.#spec.template);
    this.#current = input.pool.status?.currentRevision ?? this.#mostCommon();
    this.#state = this.#tripped(this.#taken(input.state));
  }

  plan(): RolloutPlan {
    const { batches, vmiOf } = this.#in;
    const goal = this.#goal();
    const needs = this.#needs(goal);
    const { free, left, later } = needs;
    const inHand = this.#inHand();
    const nothingToDo = free.length === 0 && later === 0 && batches.length === 0;
    const stepRoom = this.#stepRoom(goal, needs, inHand);
    const kind = this.#state.halted?.kind;
    const isOver = nothingToDo && stepRoom === null && (kind === undefined || kind === 'Undoing');
    if (isOver && this.#state.completedAt === undefined) this.#state = { ...this.#state, completedAt: this.#at() };
    if (!isOver && this.#state.completedAt !== undefined) {
      const { completedAt: _completedAt, ...state } = this.#state;
      this.#state = state;
    }
    const update = this.#isStopped() ? null : this.#next(goal, free, inHand, stepRoom);
    const current = isOver && left === 0 && goal.revision === this.#newest && this.#hasTaken(goal.revision) ? goal.revision : this.#current;
    const phase = this.#phase(isOver, goal.revision === current);
    return {
      state: this.#state,
      phase,
      newest: this.#newest,
      goal: goal.revision,
      current,
      update,
      steps: this.#spec.rollout.steps.length,
      superseded: batches.filter((batch) => batch.revision !== goal.revision && batch.superseded !== true).map(({ n }) => n),
      lost: batches.filter((batch) => this.#isLost(batch)).map(({ n }) => n),
      waits: this.#waits,
      wakeAt: this.#wakeAt,
      forNewVms: this.#forNewVms(goal, isOver, stepRoom !== null),
      updated: this.#staying.filter((vm) => this.#isOf(vm, this.#newest, vmiOf)).length,
    };
  }

  /** What is known of the rollout of the newest template. */
  #taken(state: RolloutStatus | null): RolloutStatus {
    const known = state ?? this.#in.pool.status?.rollout;
    return known?.revision === this.#newest ? known : begun(this.#newest, this.#at(), known);
  }

  /** Too many failures end a rollout, or turn it back; of an undo, they end that. */
  #tripped(state: RolloutStatus): RolloutStatus {
    const { onFailure, maxFailures } = this.#spec.rollout;
    const isUndo = state.halted?.kind === 'Undoing';
    const canGoBack = this.#in.templateOf(this.#current) !== undefined;
    if (isUndo && !canGoBack) return halted(state, 'UndoFailed', { by: 'drover', why: `the template of revision ${this.#current} is not kept any more` }, this.#at());
    const failures = state.failures.filter(({ wasDown }) => wasDown !== true);
    // One that has ended under other rules is not judged by these.
    if (state.completedAt !== undefined) return state;
    if (failures.length <= maxFailures || onFailure === 'Continue') return state;
    const { vm, why } = failures.at(-1)!;
    const words = `${failures.length} of at most ${maxFailures} failed; the last: ${vm}: ${why}`.slice(0, 1024);
    const asked = { by: 'drover', why: words };
    if (isUndo) return halted({ ...state, failures: [] }, 'UndoFailed', asked, this.#at());
    if (state.halted !== undefined) return state;
    const canUndo = onFailure === 'Undo' && this.#current !== this.#newest && canGoBack;
    return canUndo ? halted({ ...state, failures: [] }, 'Undoing', asked, this.#at()) : halted(state, 'Failed', asked, this.#at());
  }

  /** Null limit: only VMs that don't run may be touched. */
  #goal(): Goal {
    const { templateOf, pool } = this.#in;
    const kind = this.#state.halted?.kind;
    const back = kind === 'Undoing' || kind === 'UndoFailed' ? templateOf(this.#current) : undefined;
    const [revision, template] = back === undefined ? [this.#newest, pool.spec.template] : [this.#current, back];
    const { update } = this.#spec;
    const limit = update.kind === 'proactive' ? update.disruption : null;
    return { revision, template, templateOf, strategy: this.#spec.vmRolloutStrategy ?? this.#in.strategy, limit };
  }

  #needs(goal: Goal): Needs {
    const { vmiOf, busy } = this.#in;
    const free: Candidate[] = [];
    const apart: Record<'Left' | 'Vms', Map<string, string[]>> = { Left: new Map(), Vms: new Map() };
    let left = 0;
    let later = 0;
    let laterRunning = 0;
    if (this.#spec.update.kind === 'unmanaged') return { free, later, laterRunning, left: this.#unmanaged(goal) };
    const inHand = new Set(this.#in.batches.flatMap((batch) => batch.vms.map((vm) => vm.name)));
    const setApart = (kind: keyof typeof apart, vm: VmView, why: string): void => void apart[kind].set(why, [...(apart[kind].get(why) ?? []), vm.name]);
    for (const vm of this.#staying) {
      if (inHand.has(vm.name) || busy.has(vm.name)) continue;
      const need = updateNeed(vm, vmiOf, goal);
      if (need.need === 'nothing') continue;
      if (need.need === 'left') {
        // A wish that lasts must not turn an undo back by several rollouts for all the others.
        if (!vm.optedOut) left++;
        setApart('Left', vm, need.why);
      } else if (need.need === 'later') {
        later++;
        if (isMeantToRun(vm, vmiOf(vm))) laterRunning++;
        setApart('Vms', vm, need.why);
      } else if (this.#hasFailed(vm)) {
        left++;
        setApart('Left', vm, 'it has failed in this rollout');
      } else free.push({ vm, act: need.act, down: isDown(vm, vmiOf(vm)) });
    }
    // The order of VMs in a picture says nothing, and must not change a word.
    for (const kind of ['Vms', 'Left'] as const) {
      const sentences = [...apart[kind]].map(([why, names]) => `${namesInWords(names)}: ${why}`).sort();
      for (const words of sentences) this.#waits.push({ kind, words });
    }
    return { free, left, later, laterRunning };
  }

  #unmanaged({ revision }: Goal): number {
    const others = this.#staying.filter((vm) => !this.#isOf(vm, revision, this.#in.vmiOf));
    if (others.length > 0) this.#waits.push({ kind: 'Left', words: `${namesInWords(others.map((vm) => vm.name))}: people update them` });
    return others.length;
  }

  /** What batches have in hand and have not done with. */
  #inHand(): InHand {
    const { batches, vmiOf, now, pool } = this.#in;
    const byName = new Map(this.#in.vms.map((vm) => [vm.name, vm]));
    const minReadyMs = this.#spec.rollout.minReadySeconds * 1000;
    const all = new Set<string>();
    const unsettled = new Set<string>();
    for (const { revision, vms } of batches) {
      const template = this.#in.templateOf(revision) ?? pool.spec.template;
      for (const held of vms) {
        const standing = standingOf({ held, revision, template, vm: byName.get(held.name), vmiOf, minReadyMs, now });
        if (standing.state === 'well' || standing.state === 'gone') continue;
        all.add(held.name);
        if (held.act !== 'write') unsettled.add(held.name);
        if (standing.state === 'waiting' && standing.until !== undefined) this.#wake(standing.until);
      }
    }
    return { all, unsettled };
  }

  /**
   * How many more running VMs may be taken before the next step; null where no step is left. Passes a step
   * whose time is over, and notes when one is reached.
   */
  #stepRoom(goal: Goal, { free, later, laterRunning }: Needs, inHand: InHand): number | null {
    const { steps } = this.#spec.rollout;
    const { vmiOf, now } = this.#in;
    if (this.#spec.update.kind !== 'proactive' || goal.revision !== this.#newest) return null;
    const isDone = free.length === 0 && later === 0 && inHand.all.size === 0;
    // Where all is of the goal already, there is nothing to be careful about.
    if (isDone && (this.#state.batches === 0 || this.#state.completedAt !== undefined)) return null;
    const isToCome = inHand.all.size > 0 || laterRunning > 0 || free.some(({ vm }) => isMeantToRun(vm, vmiOf(vm)));
    const wanting = new Set(free.map(({ vm }) => vm.name));
    const there = this.#towards(goal).filter((vm) => !wanting.has(vm.name) && !inHand.all.has(vm.name));
    const well = there.filter((vm) => !isDown(vm, vmiOf(vm))).length;
    for (;;) {
      const step = steps[this.#state.step];
      if (step === undefined) return null;
      const most = countOf(step.to, this.#spec.replicas, 1);
      const room = most - there.length - inHand.all.size;
      const at = `step ${this.#state.step + 1} of ${steps.length} (${step.to})`;
      const isReached = well >= most || !isToCome;
      // Where drover can do nothing more either, it waits.
      if (!isReached && (room > 0 || inHand.all.size > 0)) return room;
      if (this.#state.stepReachedAt === undefined) this.#state = { ...this.#state, stepReachedAt: this.#at() };
      if (!isReached) {
        this.#waits.push({ kind: 'Step', words: `${at}: ${most - well} of its VMs are not ready` });
        return room;
      }
      const { wait } = step.then;
      if (wait === undefined) {
        this.#waits.push({ kind: 'Approval', words: `${at} is reached: it waits for \`drover rollout promote\`` });
        return room;
      }
      // Who has stopped it hears nothing of its clock; once it goes on, the time that has passed counts.
      if (this.#isStopped()) return room;
      const until = Date.parse(this.#state.stepReachedAt!) + durationMs(wait);
      if (until > now) {
        this.#wake(until);
        this.#waits.push({ kind: 'Step', words: `${at} is reached: it goes on at ${new Date(until).toISOString()}` });
        return room;
      }
      this.#state = promoted(this.#state, steps.length, false);
    }
  }

  /**
   * VMs that run, or should, and have the goal's spec, or that have been stopped by it. One that isn't ready counts too, so that
   * no other follows a guest that crashes at its step; only one that has failed is made up for.
   */
  #towards(goal: Goal): VmView[] {
    const { vmiOf } = this.#in;
    const mayStop = !runsByItself(goal.template);
    return this.#staying.filter(
      (vm) => vm.revision === goal.revision && (mayStop || isMeantToRun(vm, vmiOf(vm))) && !(this.#hasFailed(vm) && isDown(vm, vmiOf(vm))),
    );
  }

  /** A later VM of the same name has not. */
  #hasFailed({ name, createdAt }: VmView): boolean {
    return this.#state.failures.some(({ vm, at }) => vm === name && createdAt <= Date.parse(at));
  }

  /** A person, a failure or the pool itself holds every further batch back. */
  #isStopped(): boolean {
    const kind = this.#state.halted?.kind;
    const isDeleted = this.#in.pool.metadata.deletionTimestamp !== undefined;
    return isDeleted || this.#spec.paused || this.#state.paused !== undefined || (kind !== undefined && kind !== 'Undoing');
  }

  /** A batch that could begin has to wait for its time. */
  #isTooEarly(): boolean {
    const { now, notBefore } = this.#in;
    const window = windowAt(this.#spec.rollout.windows, now);
    if (!window.open) {
      if (window.next !== null) this.#wake(window.next);
      const words = window.next === null ? 'no maintenance window opens any more' : `the next maintenance window opens at ${new Date(window.next).toISOString()}`;
      this.#waits.push({ kind: 'Window', words });
      return true;
    }
    if (notBefore <= now) return false;
    this.#wake(notBefore);
    this.#waits.push({ kind: 'Delay', words: `it goes on at ${new Date(notBefore).toISOString()}` });
    return true;
  }

  #next(goal: Goal, free: readonly Candidate[], inHand: InHand, stepRoom: number | null): PlannedBatch | null {
    const { pool, vmiOf, batches, burst, now } = this.#in;
    const most = maxUnavailableOf(pool);
    const { count: unavailable } = unavailability({ pool, vms: this.#staying, vmiOf, inHand: inHand.unsettled });
    let room = most - unavailable;
    let places = Math.min(burst - inHand.all.size, MOST_IN_BATCH);
    let toStep = stepRoom ?? Infinity;
    const chosen: Candidate[] = [];
    let paid = 0;
    let wanting = 0;
    const inOrder = this.#inOrder(free);
    // One that was begun already takes no other's place below a step.
    if (stepRoom !== null) inOrder.sort((one, other) => Number(other.vm.revision === goal.revision) - Number(one.vm.revision === goal.revision));
    for (const candidate of inOrder) {
      const { vm, act, down } = candidate;
      const runs = isMeantToRun(vm, vmiOf(vm));
      // Below a step only guests that run say something of the new revision.
      if (stepRoom !== null && (!runs || toStep <= 0)) continue;
      const cost = act === 'write' || down ? 0 : 1;
      if (cost > Math.max(room, 0) || places <= 0) {
        wanting++;
        continue;
      }
      room -= cost;
      paid += cost;
      places--;
      toStep--;
      chosen.push(candidate);
    }
    if (wanting > 0 && chosen.length === 0) {
      this.#waits.push({ kind: 'Budget', words: `${unavailable} of at most ${most} are unavailable, or in hand` });
      return null;
    }
    if (chosen.length === 0 || this.#isTooEarly()) return null;
    const lastBegan = Math.max(...batches.map((batch) => batch.startedAt));
    if (wanting > 0 && paid === chosen.length && paid < Math.ceil(most / 4) && now < lastBegan + GATHER_MS) {
      this.#wake(lastBegan + GATHER_MS);
      return null;
    }
    return this.#batch(goal, chosen);
  }

  #batch(goal: Goal, chosen: readonly Candidate[]): PlannedBatch {
    const { vmiOf } = this.#in;
    const vms = chosen.map(
      ({ vm, act, down }): HeldVm => ({
        name: vm.name,
        uid: vm.uid,
        act,
        from: vm.revision,
        wasDown: down,
        ...(act === 'write' && runningGuest(vm, vmiOf(vm)) !== undefined ? { runs: true } : {}),
        ...(act === 'replace' && vm.runStrategy === 'Halted' ? { halted: true } : {}),
      }),
    );
    const n = this.#state.lastBatch + 1;
    this.#state = { ...this.#state, batches: this.#state.batches + 1, lastBatch: n };
    const what = [...new Set(vms.map(({ act }) => act))].join(', ');
    return {
      batch: { n, revision: goal.revision, rollout: this.#newest, vms },
      askedBy: goal.revision === this.#newest ? (askerOf(this.#in.pool.metadata.annotations?.[ASKED_BY_ANNOTATION], goal.revision) ?? null) : 'drover',
      minReadyMs: this.#spec.rollout.minReadySeconds * 1000,
      deadlineMs: this.#spec.rollout.progressDeadlineSeconds * 1000,
      reason: `update ${namesInWords(vms.map((vm) => vm.name))} to ${goal.revision} (${what})`,
    };
  }

  /** Broken VMs first: they are counted already. */
  #inOrder(free: readonly Candidate[]): Candidate[] {
    const { update } = this.#spec;
    const byVm = new Map(free.map((candidate) => [candidate.vm, candidate]));
    const policy = update.kind === 'proactive' ? update.selectionPolicy : undefined;
    return updateOrder([...byVm.keys()], (vm) => byVm.get(vm)!.down, policy).map((vm) => byVm.get(vm)!);
  }

  /** New VMs get the newest revision once it has proven itself, and the last one that did until then. */
  #forNewVms(goal: Goal, isOver: boolean, beforeStep: boolean): string {
    if (this.#spec.update.kind !== 'proactive' || isOver) return goal.revision;
    if (goal.revision !== this.#newest || this.#in.templateOf(this.#current) === undefined) return goal.revision;
    if (this.#isStopped() || beforeStep) return this.#current;
    const { vmiOf } = this.#in;
    const hasProven = this.#staying.some((vm) => this.#isOf(vm, goal.revision, vmiOf) && isReady(vm, vmiOf(vm)));
    return hasProven ? goal.revision : this.#current;
  }

  #phase(isOver: boolean, allAreOfIt: boolean): RolloutPhase {
    const kind = this.#state.halted?.kind;
    if (isOver && kind === 'Undoing') return 'Undone';
    if (isOver) return this.#spec.update.kind === 'proactive' || allAreOfIt ? 'Complete' : 'Idle';
    if (kind === 'Aborted') return 'Aborted';
    if (kind === 'Failed' || kind === 'UndoFailed') return 'Failed';
    if (this.#isStopped()) return 'Paused';
    if (kind === 'Undoing') return 'Undoing';
    return this.#waits.some(({ kind: what }) => what === 'Approval' || what === 'Step' || what === 'Window') ? 'Waiting' : 'RollingOut';
  }

  /** Some VM is of the revision, or there is none that could be. */
  #hasTaken(revision: string): boolean {
    return this.#staying.length === 0 || this.#staying.some((vm) => this.#isOf(vm, revision, this.#in.vmiOf));
  }

  #isOf(vm: VmView, revision: string, vmiOf: VmiOf): boolean {
    const guest = liveVmi(vmiOf(vm));
    return vm.revision === revision && (guest === undefined || guest.revision === revision);
  }

  #isLost({ startedAt }: Batch): boolean {
    const lostAt = startedAt + this.#spec.rollout.progressDeadlineSeconds * 1000 + LOST_AFTER_MS;
    return lostAt <= this.#in.now;
  }

  /** Where no status tells it: the revision that most VMs have, of those that are kept. */
  #mostCommon(): string {
    const counts = new Map<string, number>();
    for (const { revision } of this.#staying) if (revision !== null) counts.set(revision, (counts.get(revision) ?? 0) + 1);
    const kept = [...counts].filter(([revision]) => this.#in.templateOf(revision) !== undefined);
    const isNewest = (revision: string): number => Number(revision === this.#newest);
    // Of two that as many have it is not the newest, and the same one whatever order their VMs are read in.
    kept.sort(([one, ones], [other, others]) => others - ones || isNewest(one) - isNewest(other) || (one < other ? -1 : 1));
    return kept[0]?.[0] ?? this.#newest;
  }

  #wake(at: number): void {
    if (at > this.#in.now) this.#wakeAt = Math.min(this.#wakeAt ?? Infinity, at);
  }

  #at(): string {
    return new Date(this.#in.now).toISOString();
  }
}
