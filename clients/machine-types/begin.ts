import { MACHINE_TYPE_RESTART_LABEL } from '../../api/names.ts';
import { escapeMarkdown, inlineCode } from '../../decisions/lib/markdown.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { formatAim, type Transition, type TransitionProgress } from '../../decisions/machine-types/transition.ts';
import { because, formatVms } from '../../decisions/runs/report.ts';
import type { MachineTypeTransitionInput } from '../../workflows/machine-types/machine-type-transition.ts';
import { note, plain, print } from '../cli/output.ts';
import { commandsOf, followRun } from '../runs/follow.ts';
import { waitUntilListed } from '../runs/list.ts';
import { startRun } from '../runs/start.ts';
import { missingWorkers } from '../session/missing-workers.ts';
import type { Session } from '../session/session.ts';
import type { FollowFlags } from './options.ts';
import { skippedLines, poolLines, printPlan } from './plan-view.ts';
import { plannedOf } from './planned.ts';
import { Transitions } from './run-kind.ts';
import { checkNotChangedAgain, shortIdOf } from './transitions.ts';

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
  const handle = await startTransition(session, transition, minVersions);
  const { workflowId } = handle;
  print(plain(`${workflowId} begun: ${formatVms(plan.vms)}, ${formatAim(transition)}`));
  for (const line of poolLines(plan)) note(line);
  if (wait) {
    return followRun(session, Transitions, handle, {
      until: (now) => isWaiting(now) && !transition.restartNow,
      remarks: (end) => (isWaiting(end) ? [stillWaits(workflowId, end)] : []),
    });
  }
  for (const line of skippedLines(plan)) note(line);
  await waitUntilListed(session, workflowId);
  const missing = await missingWorkers(session);
  if (missing !== undefined) note(missing);
}

/** Starts the transition's workflow. `minVersions`: what the planner has read. */
export function startTransition(session: Session, transition: Transition, minVersions: ResourceVersions) {
  const { scope, to, restartNow, requestedBy, reason } = transition;
  return startRun(session, Transitions, {
    input: (id): MachineTypeTransitionInput => ({ ref: { cluster: session.cluster, id }, transition, minVersions }),
    memo: { requestedBy, reason, glob: scope.glob, to, restartNow, undoes: scope.undoes },
    phase: 'Checking',
    words: `Machine types: ${formatAim(transition, inlineCode)}; requested by ${escapeMarkdown(requestedBy)}${because(reason && escapeMarkdown(reason))}`,
  });
}

function stillWaits(id: string, { counts }: TransitionProgress): string {
  const label = `${MACHINE_TYPE_RESTART_LABEL}=${shortIdOf(id)}`;
  const which =
    counts.waiting === 0
      ? ''
      : `\`drover vm pending -A -l ${label}\` lists the VMs that wait for a restart (not a reboot inside the guest), `;
  return `${id} goes on until they are done: ${which}${commandsOf(Transitions, id)}`;
}

const isWaiting = ({ phase }: TransitionProgress): boolean => phase === 'Waiting';
