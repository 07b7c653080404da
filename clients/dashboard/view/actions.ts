import type { Stored } from '../../../api/objects.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../../decisions/views/stored-schedule.ts';
import { Failure } from '../../cli/failure.ts';
import { checkCycle, whyNoCycle } from '../../healing/cycles.ts';
import { checkHeals, pause as pauseHealing, resume as resumeHealing } from '../../healing/pause-and-resume.ts';
import { healView } from '../../healing/view.ts';
import { isOver, nameOf } from '../../operations/print-operations.ts';
import type { RevisionRecord } from '../../pool/revisions.ts';
import { rolloutView } from '../../pool/view.ts';
import { abort, pause, promote, resume } from '../../rollout/pause-and-promote.ts';
import { undoTarget } from '../../rollout/undo.ts';
import type { Action, ActionName, DrainCard } from '../contract/fleet.ts';

/** Actions for which the user types the name of the object. */
export const TYPED: readonly ActionName[] = ['rollout.abort', 'rollout.undo', 'operation.abort', 'drain.start'];

/** Returns why the user may not act, whatever the state of the object; null if they may. */
export type WhyNot = string | null;

/** The rules of the command, which throw what it would say. */
const RULES: Partial<Record<ActionName, (pool: Stored<Pool>, revisions: readonly RevisionRecord[]) => void>> = {
  'rollout.pause': (pool) => pause.check(rolloutView(pool), pool),
  'rollout.resume': (pool) => {
    resume.check(rolloutView(pool), pool);
    resume.checkAfter?.(pool);
  },
  'rollout.promote': (pool) => promote(false).check(rolloutView(pool), pool),
  'rollout.abort': (pool) => abort.check(rolloutView(pool), pool),
  'rollout.undo': undoTarget,
  'heal.pause': (pool) => {
    checkHeals(pool);
    pauseHealing.check(healView(pool), pool);
  },
  'heal.resume': (pool) => {
    checkHeals(pool);
    resumeHealing.check(healView(pool), pool);
  },
};

export function poolActions(pool: Stored<Pool>, revisions: readonly RevisionRecord[], whyNot: WhyNot): Action[] {
  const { name, deletionTimestamp } = pool.metadata;
  const gone = deletionTimestamp === undefined ? null : `pool ${name} is being deleted`;
  return Object.entries(RULES).map(([action, rule]) =>
    actionOf(action as ActionName, whyNot ?? gone ?? refusalOf(() => rule(pool, revisions))),
  );
}

/** What may be asked of the healing of one VM. `pool`: its own; undefined for a VM of no pool. */
export function vmActions(pool: Stored<Pool> | undefined, vm: string, whyNot: WhyNot): Action[] {
  if (pool === undefined) return [];
  const view = healView(pool);
  const isReplaced = view.cycles.some((cycle) => cycle.vm === vm);
  const hasEnded = view.finished.some((one) => one.vm === vm && (one.end === 'GivenUp' || one.end === 'Skipped'));
  const none = `no replacement of vm ${vm} is in progress`;
  return (['now', 'skip'] as const).map((verb) =>
    actionOf(
      `heal.${verb}`,
      whyNot ??
        refusalOf(() => {
          checkHeals(pool);
          checkCycle(verb, view, vm);
          if (!isReplaced && !(verb === 'now' && hasEnded)) throw new Failure(whyNoCycle(view, vm) ?? none);
        }),
    ),
  );
}

export function operationActions(operation: StoredOperation, whyNot: WhyNot): Action[] {
  const { spec } = operation;
  const over = isOver(operation) ? `operation ${nameOf(operation)} has already ended` : null;
  const rules: [ActionName, string | null][] = [
    ['operation.pause', spec.paused === true ? 'it is paused already' : null],
    ['operation.resume', spec.paused === true ? null : 'it is not paused'],
    ['operation.abort', spec.aborted === true ? 'it is aborted already' : null],
  ];
  return rules.map(([name, refused]) => actionOf(name, whyNot ?? over ?? refused));
}

export function scheduleActions({ metadata: { name }, spec }: StoredSchedule, whyNot: WhyNot): Action[] {
  const isSuspended = spec.suspend === true;
  return [
    actionOf('schedule.suspend', whyNot ?? (isSuspended ? `schedule ${name} is suspended already` : null)),
    actionOf('schedule.resume', whyNot ?? (isSuspended ? null : `schedule ${name} is not suspended`)),
  ];
}

/** `mayNot`, `mayNotCancel`: why the user may neither drain nodes nor cancel that. */
export function nodeActions(
  { node, isDrained, remaining, toEvacuate }: Omit<DrainCard, 'actions'>,
  mayNot: WhyNot,
  mayNotCancel: WhyNot,
): Action[] {
  const alreadyDrained =
    isDrained && toEvacuate === remaining ? `node ${node} is drained: all VMs on it were asked to leave` : null;
  const isNot = isDrained || toEvacuate > 0 ? null : `node ${node} is not cordoned, and no VM on it was asked to leave`;
  return [actionOf('drain.start', mayNot ?? alreadyDrained), actionOf('drain.cancel', mayNotCancel ?? isNot)];
}

const actionOf = (name: ActionName, whyNot: WhyNot): Action => ({ name, whyNot, isTyped: TYPED.includes(name) });

function refusalOf(check: () => void): string | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof Failure) return error.message;
    throw error;
  }
}
