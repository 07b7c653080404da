import { stringify } from 'yaml';
import type { VmWithVmi } from '../../decisions/from-object/vm-with-vmi.ts';
import { formatPace, formatVms } from '../../decisions/runs/report.ts';
import { Failure, UsageError } from '../cli/failure.ts';
import { printNote, plain, print, printData, type DataFormat } from '../cli/print.ts';
import { vmNamesOf } from '../cli/targets.ts';
import { makeAndFollow } from '../operations/make.ts';
import { readNamed, readVms, scopeOf } from '../operations/read-vms.ts';
import type { Session, Work } from '../session/session.ts';
import { changeOperation, type ChangingFlags } from './operation.ts';
import { patchOf, type ChangeOptions } from './patch.ts';
import { planLines, refusalsOf } from './plan-view.ts';
import { planWithDryRuns, type DryRunPlan } from './plan.ts';

interface ChangeFlags extends ChangeOptions {
  selector?: string;
  allNamespaces?: boolean;
}

/** Says what a change would do. Throws what KubeVirt would refuse. */
export const planChanges: Work<ChangeFlags & { output?: DataFormat }> = async (session, flags, ...names) => {
  const plan = await planned(session, names, flags);
  if (flags.output === undefined) print(planLines(plan));
  else await printData(plan, flags.output);
  const refusals = refusalsOf(plan);
  if (refusals.length > 0) throw new AggregateError(refusals);
};

async function planned(session: Session, names: string[], flags: ChangeFlags): Promise<DryRunPlan> {
  const patch = await patchOf(flags);
  const vms = await vmsToChange(session, names, flags);
  return planWithDryRuns(await session.kube(), vms, patch);
}

/** Reads the VMs that are meant. Throws `UsageError`, and a `KubeError` (404) for a missing VM. */
async function vmsToChange(
  session: Session,
  args: string[],
  { selector, allNamespaces = false }: ChangeFlags,
): Promise<VmWithVmi[]> {
  if (args.length > 0 && selector !== undefined) throw new UsageError('give names or -l, not both');
  if (args.length > 0 && allNamespaces) throw new UsageError('give names or -A, not both');
  if (args.length > 0) return readNamed(await session.kube(), await session.namespace(), vmNamesOf(args));
  if (selector === undefined) throw new UsageError('specify VMs by name or with -l');
  return readVms(await session.kube(), await scopeOf(session, { allNamespaces, selector }));
}

/** Changes VMs by an operation, unless KubeVirt would refuse it. */
export const applyChange: Work<ChangeFlags & ChangingFlags> = async (session, flags, ...names) => {
  const plan = await planned(session, names, flags);
  const { output, dryRun, restart, selector } = flags;
  if (output === undefined) print(planLines(plan));
  const refusals = refusalsOf(plan);
  if (refusals.length > 0) throw new AggregateError([...refusals, new Failure('no VM was changed')]);
  if (plan.groups.length === 0 || dryRun === 'client') return;
  const vms = plan.groups.flatMap((group) => group.vms);
  const which = { vms, selector: names.length > 0 ? undefined : selector };
  const merge = stringify(plan.patch, { lineWidth: 0 });
  const operation = await changeOperation(session, which, { merge }, flags);
  const what = formatPace(vms.length, flags.atOnce);
  await makeAndFollow(
    session,
    {
      operation,
      what,
      printDryRun: () => print(`${what} (server dry run)`),
      printMade: ({ metadata: { name, namespace } }) => {
        const where = namespace === undefined ? '-A' : `-n ${namespace}`;
        printNote(plain(`\`drover change undo ${name} ${where}\` reverts it`));
        if (restart === undefined) printRestarts(plan);
      },
    },
    flags,
  );
};

function printRestarts({ groups }: DryRunPlan): void {
  const waits = groups.flatMap(({ need, vms }) => (need === 'Restart' ? vms : []));
  if (waits.length > 0)
    printNote(`${formatVms(waits.length)} to be restarted: \`drover vm restart --pending\` does that, a few at a time`);
}
