import { Command } from 'commander';
import { stringify } from 'yaml';
import { countOf } from '../../../api/lib/int-or-percent.ts';
import { formatVms } from '../../../decisions/runs/report.ts';
import type { AskedPlan } from '../../changes/plan.ts';
import { Failure } from '../../cli/failure.ts';
import { examples } from '../../cli/options.ts';
import { note, plain, print } from '../../cli/print.ts';
import { inSession, type Session } from '../../session/session.ts';
import { atOnceOption, withMaking } from '../operations/making.ts';
import { changeOperation, type ChangingFlags } from './operation.ts';
import { planned, withChange, type ChangeFlags } from './plan.ts';

type ApplyFlags = ChangeFlags & ChangingFlags;

export const applyChangeCommand = (): Command =>
  withMaking(
    withChange(new Command('apply'))
      .description('change VMs as `drover change plan` says, by an operation that a worker carries out')
      .option('--restart', 'restart VMs whose change needs that, each as it is changed; without it, they wait')
      .addOption(atOnceOption('changed or, with --restart, not ready', '5%')),
    {
      deadline: 'how long a VM may take to have the change and, with --restart, to be ready',
      verb: 'change',
      done: 'changed',
    },
  )
    .addHelpText(
      'after',
      examples(
        [
          'Another eviction strategy',
          'drover change apply -l app=db --set spec.template.spec.evictionStrategy=LiveMigrate --reason "new storage"',
        ],
        [
          'Another CPU model, and the restarts that it takes, one after the other',
          'drover change apply -l app=db --set spec.template.spec.domain.cpu.model=host-model --restart --at-once 1',
        ],
        ['The object, for Git', 'drover change apply -l app=db --patch change.yaml -o yaml'],
      ),
    )
    .action((names: string[], flags: ApplyFlags, command: Command) =>
      inSession(command, (session) => apply(session, names, flags)),
    );

async function apply(session: Session, names: string[], flags: ApplyFlags): Promise<void> {
  const { plan } = await planned(session, names, flags);
  const [{ printPlan, refusalsOf }, { makeAndFollow }] = await Promise.all([
    import('../../changes/plan-view.ts'),
    import('../../operations/make.ts'),
  ]);
  const { output, dryRun, restart, selector } = flags;
  if (output === undefined) printPlan(plan);
  const refusals = refusalsOf(plan);
  if (refusals.length > 0) throw new AggregateError([...refusals, new Failure('no VM was changed')]);
  if (plan.groups.length === 0 || dryRun === 'client') return;
  const vms = plan.groups.flatMap((group) => group.vms);
  const atOnce = Math.min(countOf(flags.atOnce, vms.length, 1), vms.length);
  const which = { vms, selector: names.length > 0 ? undefined : selector };
  const merge = stringify(plan.patch, { lineWidth: 0 });
  const operation = await changeOperation(session, which, { merge }, flags);
  const what = `${formatVms(vms.length)}, ${atOnce} at a time`;
  await makeAndFollow(
    session,
    {
      operation,
      what,
      tellDryRun: () => print(`${what} (server dry run)`),
      tell: ({ metadata: { name, namespace } }) => {
        const where = namespace === undefined ? '-A' : `-n ${namespace}`;
        note(plain(`\`drover change undo ${name} ${where}\` takes it back`));
        if (restart === undefined) tellRestarts(plan);
      },
    },
    flags,
  );
}

function tellRestarts({ groups }: AskedPlan): void {
  const waits = groups.flatMap(({ need, vms }) => (need === 'Restart' ? vms : []));
  if (waits.length > 0)
    note(`${formatVms(waits.length)} to be restarted: \`drover vm restart --pending\` does that, a few at a time`);
}
