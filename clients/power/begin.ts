import { ACTION_LABELS } from '../../decisions/power/action.ts';
import { because, formatVms } from '../../decisions/runs/report.ts';
import type { PowerVmsInput } from '../../workflows/power/power-vms.ts';
import { startRun } from '../runs/start.ts';
import { requestedBy } from '../session/requester.ts';
import type { Session } from '../session/session.ts';
import type { ChosenVms } from './choose.ts';
import { PowerRuns } from './run-kind.ts';

/** Starts the workflow that starts, stops or restarts the VMs. */
export async function startPower(
  session: Session,
  { vms, targets }: ChosenVms,
  options: Pick<PowerVmsInput, 'action' | 'atOnce' | 'maxFailures' | 'deadlineMs' | 'reason'>,
) {
  const { action, reason } = options;
  const by = await requestedBy(() => session.kube());
  return startRun(session, PowerRuns, {
    input: (): PowerVmsInput => ({ ...options, chosen: targets, requestedBy: by }),
    memo: { action, requestedBy: by, reason, vms: vms.length },
    phase: ACTION_LABELS[action].doing,
    words: `${action} of ${formatVms(vms.length)}, requested by ${by}${because(reason)}`,
  });
}
