import { MACHINE_TYPE_RESTART_LABEL } from '../../api/labels-and-annotations.ts';
import { formatAim, type Transition } from '../../decisions/machine-types/transition.ts';
import { formatVms } from '../../decisions/runs/report.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import { note, plain } from '../cli/print.ts';
import { formatGoesOn } from '../operations/follow.ts';
import { makeAndFollow, operationOf } from '../operations/make.ts';
import { stateOf } from '../operations/print-operations.ts';
import type { Session } from '../session/session.ts';
import type { FollowFlags } from './options.ts';
import { isOfPool, poolLines, printPlan, skippedLines } from './plan-view.ts';
import { plannedOf } from './planned.ts';
import { specOf } from './spec.ts';
import { checkNotChangedAgain } from './transitions.ts';

/**
 * Makes the operation of a transition, and follows it, as the flags say; with `--dry-run`, only prints what it would
 * do. Throws `Failure` if nothing matches.
 */
export async function beginTransition(session: Session, transition: Transition, flags: FollowFlags): Promise<void> {
  const { dryRun, output } = flags;
  const { plan, others } = await plannedOf(session, transition, { asksServer: dryRun === 'server' });
  if (dryRun === 'client' && output === undefined) return printPlan(plan);
  if (transition.scope.undoes !== null)
    checkNotChangedAgain(
      others.operations,
      plan.items.map(({ namespace, result: type }) => ({ namespace, type })),
    );
  const { namespace } = session.globals;
  const isWide = transition.scope.namespaces === null;
  const operation = operationOf(
    isWide ? undefined : namespace,
    specOf(transition, plan.items.some(isOfPool), plan.items),
  );
  const tell = (): void => {
    for (const line of [...poolLines(plan), ...(flags.wait ? [] : skippedLines(plan))]) note(line);
  };
  const follow = {
    until: (now: StoredOperation) => isWaiting(now) && !transition.restartNow,
    remarks: (end: StoredOperation) => (isWaiting(end) ? [stillWaits(end)] : []),
  };
  const what = plain(`${formatVms(plan.vms)}, ${formatAim(transition)}`);
  return makeAndFollow(session, { operation, what, tellDryRun: () => printPlan(plan), tell, follow }, flags);
}

function stillWaits({ metadata, status }: StoredOperation): string {
  const label = `${MACHINE_TYPE_RESTART_LABEL}=${metadata.uid}`;
  const waiting = status?.machineType?.waiting ?? 0;
  const where = metadata.namespace === undefined ? '-A' : `-n ${metadata.namespace}`;
  const which =
    waiting === 0
      ? ''
      : `; \`drover vm pending ${where} -l ${label}\` lists the VMs that wait for a restart (not a reboot inside the guest)`;
  return `${formatGoesOn(metadata)}${which}`;
}

const isWaiting = (operation: StoredOperation): boolean => stateOf(operation) === 'Waiting';
