import { formatNames } from '../../decisions/lib/names.ts';
import { formatVms } from '../../decisions/runs/report.ts';
import type { ChangeNeed } from '../../decisions/views/annotations/recorded-change.ts';
import { Failure } from '../cli/failure.ts';
import { paint, plain } from '../cli/print.ts';
import type { DryRunPlan } from './plan.ts';
import { formatEdit } from './planned-groups.ts';

/** From least to most that has to be done. */
const NEEDS: Record<ChangeNeed, string> = {
  Nothing: 'nothing restarts for it',
  Live: 'KubeVirt brings it to VMIs while they run',
  Start: 'takes effect at the next start',
  Restart: 'takes effect with a restart',
};
const ORDER = Object.keys(NEEDS) as ChangeNeed[];

/** What the plan says, for users: the groups, and the VMs that nothing is done to. */
export function planLines({ groups, unchanged, skipped }: Omit<DryRunPlan, 'patch'>): string[] {
  const sorted = groups.toSorted((a, b) => ORDER.indexOf(a.need) - ORDER.indexOf(b.need));
  return [
    ...sorted.flatMap(({ need, edits, vms, kubevirt }) => [
      paint('bold', plain(`${formatVms(vms.length)}: ${NEEDS[need]}: ${formatNames(vms)}`)),
      ...edits.map((edit) => plain(`  ${formatEdit(edit)}`)),
      ...(kubevirt.is === 'refused' ? [paint('red', plain(`  refused for ${vms[0]}: ${kubevirt.message}`))] : []),
      ...(kubevirt.is === 'unknown' ? [paint('yellow', '  KubeVirt was not asked: there are too many groups')] : []),
    ]),
    ...(unchanged.length === 0 ? [] : [plain(`${formatVms(unchanged.length)} as wanted: ${formatNames(unchanged)}`)]),
    ...skipped.map(({ message, vms }) => plain(`skipped: ${formatNames(vms)}: ${message}`)),
    ...(groups.length === 0 ? ['nothing to change'] : []),
  ];
}

/** A sentence for each group that KubeVirt refuses. */
export const refusalsOf = ({ groups }: DryRunPlan): Failure[] =>
  groups.flatMap(({ vms, kubevirt }) =>
    kubevirt.is === 'refused'
      ? [
          new Failure(
            plain(`KubeVirt would refuse ${formatVms(vms.length)} (${formatNames(vms)}): ${kubevirt.message}`),
          ),
        ]
      : [],
  );
