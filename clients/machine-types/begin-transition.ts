import { MACHINE_TYPE_RESTART_LABEL } from '../../api/labels-and-annotations.ts';
import type { AnyOperation } from '../../api/operations/operation.ts';
import { formatAim } from '../../decisions/machine-types/transition.ts';
import { transitionOf } from '../../decisions/operations/transition.ts';
import { formatVms } from '../../decisions/runs/report.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import { printNote, plain } from '../cli/print.ts';
import { formatStillRunning } from '../operations/follow.ts';
import { makeAndFollow } from '../operations/make.ts';
import { stateOf } from '../operations/print-operations.ts';
import type { Session, Work } from '../session/session.ts';
import { namedOperation } from './named.ts';
import { poolLines, printPlan, skippedLines, type PlanFormat } from './plan-view.ts';
import { plannedOf } from './planned.ts';
import { checkNotChangedAgain, checkOver, findTransition } from './transitions.ts';
import {
  typesOperation,
  undoOperation,
  type FollowFlags,
  type RestartFlags,
  type ScopeFlags,
} from './types-operation.ts';

type TransitionFlags = ScopeFlags & RestartFlags;

export const planTransition: Work<TransitionFlags & { output?: PlanFormat }> = async (session, flags) => {
  const { plan } = await plannedOf(session, transitionOf(await typesOperation(session, flags)), { withDryRuns: true });
  await printPlan(plan, flags.output);
};

export const updateMachineTypes: Work<TransitionFlags & FollowFlags> = async (session, flags) =>
  beginTransition(session, await typesOperation(session, flags), flags);

/** Gives VMs back the machine types that the operation of this name has changed. */
export const undoTransition: Work<RestartFlags & FollowFlags> = async (session, flags, name) => {
  const meant = await findTransition(await session.kube(), session.globals.namespace, name);
  checkOver(meant);
  await beginTransition(session, await undoOperation(session, meant.undoneAs, flags), flags);
};

/**
 * Makes the operation of a transition, and follows it, as the flags say; with `--dry-run`, only prints what it would
 * do. Throws `Failure` if nothing matches.
 */
async function beginTransition(session: Session, requested: AnyOperation, flags: FollowFlags): Promise<void> {
  const transition = transitionOf(requested);
  const { dryRun, output } = flags;
  const { plan, others } = await plannedOf(session, transition, { withDryRuns: dryRun === 'server' });
  if (dryRun === 'client' && output === undefined) return printPlan(plan);
  if (transition.scope.undoes !== null)
    checkNotChangedAgain(
      others.operations,
      plan.items.map(({ namespace, result: type }) => ({ namespace, type })),
    );
  const operation = namedOperation(requested, transition.scope, plan.items);
  const printMade = (): void => {
    for (const line of [...poolLines(plan), ...(flags.wait ? [] : skippedLines(plan))]) printNote(line);
  };
  const follow = {
    until: (now: StoredOperation) => isWaiting(now) && !transition.restartNow,
    notes: (end: StoredOperation) => (isWaiting(end) ? [stillWaits(end)] : []),
  };
  const what = plain(`${formatVms(plan.items.length)}, ${formatAim(transition)}`);
  return makeAndFollow(session, { operation, what, printDryRun: () => printPlan(plan), printMade, follow }, flags);
}

function stillWaits({ metadata, status }: StoredOperation): string {
  const label = `${MACHINE_TYPE_RESTART_LABEL}=${metadata.uid}`;
  const waiting = status?.machineType?.waiting ?? 0;
  const where = metadata.namespace === undefined ? '-A' : `-n ${metadata.namespace}`;
  const which =
    waiting === 0
      ? ''
      : `; \`drover vm pending ${where} -l ${label}\` lists the VMs that wait for a restart (a reboot inside the guest is one only under rebootPolicy Terminate)`;
  return `${formatStillRunning(metadata)}${which}`;
}

const isWaiting = (operation: StoredOperation): boolean => stateOf(operation) === 'Waiting';
