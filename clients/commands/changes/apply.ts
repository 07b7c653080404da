import { Command, Option } from 'commander';
import { formatNames } from '../../../decisions/lib/names.ts';
import { formatVms } from '../../../decisions/runs/report.ts';
import type { Outcome } from '../../changes/apply.ts';
import type { AskedPlan } from '../../changes/plan.ts';
import { Failure } from '../../cli/failure.ts';
import { examples, reasonOption } from '../../cli/options.ts';
import { note, plain, print } from '../../cli/output.ts';
import { count } from '../../cli/values.ts';
import { inSession, type Session } from '../../session/session.ts';
import { planned, withChange, type ChangeFlags } from './plan.ts';

type ApplyFlags = ChangeFlags & { maxFailures: number; reason?: string };

export const applyChangeCommand = (): Command =>
  withChange(new Command('apply'))
    .description('change VMs as `drover change plan` says, with your own rights; nothing restarts for it')
    .addOption(new Option('--max-failures <n>', 'more than so many failures stop it').argParser(count).default(0))
    .addOption(reasonOption('the note on each VM'))
    .addHelpText(
      'after',
      examples(
        [
          'Another eviction strategy',
          'drover change apply -l app=db --set spec.template.spec.evictionStrategy=LiveMigrate --reason "new storage"',
        ],
        ['Restart those that wait for it, a few at a time', 'drover vm restart --pending -l app=db'],
      ),
    )
    .action((names: string[], flags: ApplyFlags, command: Command) =>
      inSession(command, (session) => apply(session, names, flags)),
    );

async function apply(session: Session, names: string[], flags: ApplyFlags): Promise<void> {
  const { plan, vms } = await planned(session, names, flags);
  const [{ printPlan, refusalsOf }, { applyChange, newChangeId }, { nameOf }, { requestedBy }] = await Promise.all([
    import('../../changes/view.ts'),
    import('../../changes/apply.ts'),
    import('../../changes/plan.ts'),
    import('../../session/requester.ts'),
  ]);
  printPlan(plan);
  const refusals = refusalsOf(plan);
  if (refusals.length > 0) throw new AggregateError([...refusals, new Failure('no VM was changed')]);
  if (plan.groups.length === 0) return;
  const wanted = new Set(plan.groups.flatMap((group) => group.vms));
  const { reason, maxFailures } = flags;
  const id = newChangeId();
  const undo = undoLine(id, wanted);
  process.prependOnceListener('SIGINT', () => note(`\n${id} is not complete: \`${undo}\` takes it back`));
  const by = await requestedBy(() => session.kube());
  const at = new Date().toISOString();
  const outcome = await applyChange(
    await session.kube(),
    vms.map(({ vm }) => vm).filter((vm) => wanted.has(nameOf(vm))),
    plan.patch,
    { id, at, by, maxFailures, ...(reason === undefined ? {} : { reason }) },
  );
  report(id, wanted.size, outcome, plan);
  if (outcome.changed.length > 0) note(`\`${undo}\` takes it back`);
  throwFailures(outcome);
}

function undoLine(id: string, vms: ReadonlySet<string>): string {
  const [namespace, ...others] = new Set([...vms].map((vm) => vm.slice(0, vm.indexOf('/'))));
  return `drover change undo ${id} ${others.length === 0 ? `-n ${namespace}` : '-A'}`;
}

function report(id: string, of: number, { changed, left, unnoted }: Outcome, plan: AskedPlan): void {
  print(`${id}: ${changed.length} of ${formatVms(of)} changed`);
  for (const { vm, why } of left) note(plain(`${vm} is left as it is: ${why}`));
  if (unnoted.length > 0)
    note(`can't be undone, since what was there is too long to be noted: ${formatNames(unnoted)}`);
  const done = new Set(changed);
  const waits = plan.groups.flatMap(({ need, vms }) => (need === 'Restart' ? vms.filter((vm) => done.has(vm)) : []));
  if (waits.length > 0)
    note(`${formatVms(waits.length)} to be restarted: \`drover vm restart --pending\` does that, a few at a time`);
}

function throwFailures({ failed, open }: Outcome): void {
  const failures = failed.map(({ vm, why }) => new Failure(plain(`${vm} failed: ${why}`)));
  if (open > 0) failures.push(new Failure(`${formatVms(open)} not begun with, since too many have failed`));
  if (failures.length > 0) throw new AggregateError(failures);
}
