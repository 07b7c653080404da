import type { Transition } from '../../decisions/machine-types/transition.ts';
import { note, plain, print } from '../cli/output.ts';
import { waitUntilListed } from '../runs/list.ts';
import { missingWorkers } from '../session/missing-workers.ts';
import type { Session } from '../session/session.ts';
import { followTransition } from './follow.ts';
import { formatAim, formatVms } from './format.ts';
import type { FollowFlags } from './options.ts';
import { skippedLines, poolLines, printPlan } from './plan-view.ts';
import { plannedOf } from './planned.ts';
import { startTransition } from './start.ts';
import { checkNotChangedAgain } from './transitions.ts';

/**
 * Starts a transition and follows it, as the flags say; with `--dry-run`, only prints what it would do. Throws
 * `Failure` if nothing matches.
 */
export async function beginTransition(
  session: Session,
  transition: Transition,
  { wait, dryRun }: FollowFlags,
): Promise<void> {
  const { plan, minVersions } = await plannedOf(session, transition, { asksServer: dryRun === 'server' });
  if (dryRun !== 'none') return printPlan(plan);
  if (transition.scope.undoes !== null)
    await checkNotChangedAgain(
      session,
      plan.items.map(({ result }) => result),
    );
  const handle = await startTransition(session, { transition, minVersions });
  print(plain(`${handle.workflowId} begun: ${formatVms(plan.vms)}, ${formatAim(transition)}`));
  for (const line of poolLines(plan)) note(line);
  if (wait) return followTransition(session, handle, { untilChanged: !transition.restartNow });
  for (const line of skippedLines(plan)) note(line);
  await waitUntilListed(session, handle.workflowId);
  const missing = await missingWorkers(session);
  if (missing !== undefined) note(missing);
}
