import type { RolloutStatus } from '../../api/pool/pool.ts';
import { isDown, isReady } from '../disruption-budget/availability.ts';
import { poolTemplate } from '../pool/template.ts';
import type { Goal } from '../vm-update/need.ts';
import type { Batch } from './batch.ts';
import { rolloutNeeds } from './candidates.ts';
import { RolloutContext, type RolloutInput } from './context.ts';
import { inHandOf } from './in-progress.ts';
import { batchOf, nextVms, type PlannedBatch } from './next-batch.ts';
import { withRegressions } from './regression.ts';
import { begun, failuresOfThisWay, halted, isGoingBack } from './state.ts';
import { stepRoom } from './steps.ts';
import type { Wait } from './waits.ts';

/** A batch that has said nothing for so long beyond its deadline is taken for lost. */
const LOST_AFTER_MS = 15 * 60_000;

/** `Idle`: VMs that the pool's strategy leaves alone are still of an older revision. */
export type RolloutPhase =
  | 'Complete'
  | 'RollingOut'
  | 'Waiting'
  | 'Paused'
  | 'Failed'
  | 'Aborted'
  | 'Undoing'
  | 'Undone'
  | 'Idle';

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
  /** Of an undo that is over: VMs that are not back as they should be, by name. */
  notBack: string[];
  /**
   * VMs that nobody has deleted, and how many of them are not of the newest revision, though their owners did not opt
   * out.
   */
  present: number;
  behind: number;
  /** VMs whose spec and guest are of the newest revision. */
  updated: number;
}

/**
 * Where a rollout stands, and the batch that it may begin now: never more than the budget holds, none where it is held.
 */
export function planRollout(input: RolloutInput): RolloutPlan {
  const scene = new RolloutContext(input);
  const { newest, waits } = scene;
  const { batches } = input;
  const known = tripped(scene, withRegressions(scene, taken(scene, input.state)));
  const goal = goalOf(scene, known);
  const needs = rolloutNeeds(scene, known, goal);
  const inHand = inHandOf(scene);
  const { state: stepped, room } = stepRoom(scene, known, goal, needs, inHand);
  const kind = stepped.halted?.kind;
  const nothingToDo = needs.free.length === 0 && needs.later === 0 && batches.length === 0;
  const isOver = nothingToDo && room === null && (kind === undefined || kind === 'Undoing');
  let state = completed(stepped, isOver, scene.now);
  const vms = scene.isStopped(state) ? null : nextVms(scene, goal, needs.free, inHand, { state, stepRoom: room });
  if (vms !== null) state = { ...state, batches: state.batches + 1, lastBatch: state.lastBatch + 1 };
  const isTaken = isOver && needs.left === 0 && goal.revision === newest && scene.hasTaken(newest);
  const current = isTaken ? newest : scene.current;
  return {
    state,
    phase: phaseOf(scene, state, isOver, {
      goalIsCurrent: goal.revision === current,
      leftToOthers: needs.left > needs.failed,
    }),
    notBack: isOver && kind === 'Undoing' ? notBack(scene, goal) : [],
    newest,
    goal: goal.revision,
    current,
    update: vms === null ? null : batchOf(scene, goal, vms, state.lastBatch),
    steps: scene.spec.rollout.steps.length,
    superseded: batches
      .filter((batch) => batch.revision !== goal.revision && batch.superseded !== true)
      .map(({ n }) => n),
    lost: batches.filter((batch) => isLost(scene, batch)).map(({ n }) => n),
    waits: waits.all,
    wakeAt: waits.wakeAt,
    forNewVms: forNewVms(scene, state, goal, isOver, room !== null),
    present: scene.staying.length,
    behind: scene.staying.filter((vm) => !vm.optedOut && !scene.isOf(vm, newest)).length,
    updated: scene.staying.filter((vm) => scene.isOf(vm, newest)).length,
  };
}

/** What is known of the rollout of the newest template. */
function taken({ input, newest, now }: RolloutContext, state: RolloutStatus | null): RolloutStatus {
  const known = state ?? input.pool.status?.rollout;
  return known?.revision === newest ? known : begun(newest, now, known);
}

/** Too many failures end a rollout, or turn it back; of an undo, they end that. */
function tripped({ input, spec, newest, current, now }: RolloutContext, state: RolloutStatus): RolloutStatus {
  const { onFailure, maxFailures } = spec.rollout;
  const isUndo = state.halted?.kind === 'Undoing';
  const canGoBack = input.templateOf(current) !== undefined;
  if (isUndo && !canGoBack)
    return halted(
      state,
      'UndoFailed',
      { by: 'drover', why: `the template of revision ${current} is not kept any more` },
      now,
    );
  const failures = failuresOfThisWay(state).filter(({ wasDown }) => wasDown !== true);
  // One that has ended under other rules is not judged by these.
  if (state.completedAt !== undefined) return state;
  if (failures.length <= maxFailures || onFailure === 'Continue') return state;
  const { vm, why } = failures.at(-1)!;
  const failed = failures.length === 1 ? '1 VM' : `${failures.length} VMs`;
  const words = `${failed} failed, and maxFailures allows ${maxFailures}; the last: ${vm}: ${why}`.slice(0, 1024);
  const asked = { by: 'drover', why: words };
  if (isUndo) return halted(state, 'UndoFailed', asked, now);
  if (state.halted !== undefined) return state;
  const canUndo = onFailure === 'Undo' && current !== newest && canGoBack;
  return canUndo ? halted(state, 'Undoing', asked, now) : halted(state, 'Failed', asked, now);
}

/** Null limit: only VMs that don't run may be touched. */
function goalOf({ input, spec, newest, current }: RolloutContext, state: RolloutStatus): Goal {
  const { templateOf, pool } = input;
  const back = isGoingBack(state) ? templateOf(current) : undefined;
  const [revision, template] = back === undefined ? [newest, poolTemplate(pool.spec)] : [current, back];
  const limit = spec.update.kind === 'proactive' ? spec.update.disruption : null;
  return {
    revision,
    template,
    templateOf,
    strategy: spec.vmRolloutStrategy ?? input.strategy,
    clusterStrategy: input.strategy,
    limit,
  };
}

function completed(state: RolloutStatus, isOver: boolean, now: string): RolloutStatus {
  const { completedAt, ...rest } = state;
  return isOver ? { ...rest, completedAt: completedAt ?? now } : rest;
}

/** New VMs get the newest revision once it has proven itself, and the last one that did until then. */
function forNewVms(
  scene: RolloutContext,
  state: RolloutStatus,
  goal: Goal,
  isOver: boolean,
  isBeforeStep: boolean,
): string {
  const { spec, newest, current, staying, input } = scene;
  if (spec.update.kind !== 'proactive' || isOver) return goal.revision;
  if (goal.revision !== newest || input.templateOf(current) === undefined) return goal.revision;
  if (scene.isStopped(state) || isBeforeStep) return current;
  const hasProven = staying.some((vm) => scene.isOf(vm, goal.revision) && isReady(vm, input.vmiOf(vm)));
  return hasProven ? goal.revision : current;
}

/** VMs that should run and are not ready, or have not got the revision that they should go back to. */
const notBack = ({ staying, input: { vmiOf } }: RolloutContext, goal: Goal): string[] =>
  staying
    .filter((vm) => isDown(vm, vmiOf(vm)) || (!vm.optedOut && vm.revision !== goal.revision))
    .map(({ name }) => name);

function phaseOf(
  scene: RolloutContext,
  state: RolloutStatus,
  isOver: boolean,
  { goalIsCurrent, leftToOthers }: { goalIsCurrent: boolean; leftToOthers: boolean },
): RolloutPhase {
  const kind = state.halted?.kind;
  if (isOver && kind === 'Undoing') return 'Undone';
  // VMs that the pool's rules leave on an older revision make no success of it.
  if (isOver) return !leftToOthers && (scene.spec.update.kind === 'proactive' || goalIsCurrent) ? 'Complete' : 'Idle';
  if (kind === 'Aborted') return 'Aborted';
  if (kind === 'Failed' || kind === 'UndoFailed') return 'Failed';
  if (scene.isStopped(state)) return 'Paused';
  if (kind === 'Undoing') return 'Undoing';
  return scene.waits.all.some(({ kind: what }) => what === 'Approval' || what === 'Step' || what === 'Window')
    ? 'Waiting'
    : 'RollingOut';
}

function isLost({ spec, input }: RolloutContext, { startedAt }: Batch): boolean {
  const lostAt = startedAt + spec.rollout.progressDeadlineSeconds * 1000 + LOST_AFTER_MS;
  return lostAt <= input.now;
}
