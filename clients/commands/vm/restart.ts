import { Command, Option } from 'commander';
import type { IntOrPercent } from '../../../api/int-or-percent.ts';
import { dryRunOption, dryRunRemark, examples } from '../../cli/options.ts';
import { note, print } from '../../cli/output.ts';
import { atLeastOne, count, someTime, yesOrNo, type DryRun } from '../../cli/values.ts';
import { inSession, type Session } from '../../session/session.ts';

interface RestartOptions {
  pending?: boolean;
  allNamespaces?: boolean;
  selector?: string;
  maxUnavailable: IntOrPercent;
  maxFailures: number;
  deadline: number;
  wait: boolean;
  reason?: string;
  dryRun: DryRun;
}

export const restartVmsCommand = (): Command =>
  new Command('restart')
    .description(
      'restart VMs of any owner within a budget; the next goes down only when the last is seen to be ready again',
    )
    .argument('[names...]')
    .option('--pending', 'all VMs that wait for a restart, as `drover vm pending` lists them')
    .option('-A, --all-namespaces', 'with --pending: in all namespaces')
    .option('-l, --selector <selector>', 'with --pending: only VMs with these labels')
    .addOption(
      new Option(
        '--max-unavailable <n>',
        'how many of them, or how many percent, may be not ready at once, whatever the cause; at least 1',
      )
        .argParser(atLeastOne)
        .default('5%'),
    )
    .addOption(new Option('--max-failures <n>', 'more than so many failures stop it').argParser(count).default(0))
    .addOption(
      new Option(
        '--deadline <duration>',
        'how long a VM may take to be ready again, and how long one that is paused or migrates is waited for',
      )
        .argParser(someTime)
        .default(600_000, '10m'),
    )
    .addOption(
      new Option('--wait [boolean]', 'follow it to its end; the exit code says whether all were restarted')
        .argParser(yesOrNo)
        .default(true),
    )
    .option('--no-wait', 'come back as soon as it has begun')
    .option('--reason <words>', 'why, for those who see it')
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        [
          'All that wait for a restart, one in twenty at a time',
          'drover vm restart --pending -A --reason "new machine type"',
        ],
        ['What would that be?', 'drover vm restart --pending -A --dry-run'],
        ['Some VMs, one after the other', 'drover vm restart db-1 db-2 db-3 --max-unavailable 1'],
        ['Begin, and look at it later', 'drover vm restart --pending --no-wait && drover vm restarts'],
      ),
    )
    .action((names: string[], options: RestartOptions, command: Command) =>
      inSession(command, (session) => restart(session, names, options)),
    );

async function restart(session: Session, names: string[], options: RestartOptions): Promise<void> {
  const {
    pending = false,
    allNamespaces = false,
    selector,
    maxUnavailable,
    maxFailures,
    deadline,
    reason = null,
    dryRun,
  } = options;
  const [{ choose }, { budgetOf, startRestart }] = await Promise.all([
    import('../../vm/choose.ts'),
    import('../../vm/restart.ts'),
  ]);
  const chosen = await choose(session, names, { pending, allNamespaces, selector });
  for (const name of chosen.idle) note(`vm ${name} does not run: nothing to restart`);
  if (chosen.vms.length === 0) return note('nothing to restart');
  const most = budgetOf(chosen, maxUnavailable);
  const what = `${chosen.vms.length} ${chosen.vms.length === 1 ? 'VM' : 'VMs'}, ${most} at a time`;
  if (dryRun !== 'none') {
    for (const { vm, why } of chosen.vms) print(`${vm} would be restarted${why === null ? '' : `: ${why}`}`);
    return print(`${what}${dryRunRemark(dryRun)}`);
  }
  const handle = await startRestart(session, chosen, { maxUnavailable, maxFailures, deadlineMs: deadline, reason });
  print(`${handle.workflowId} begun: ${what}`);
  if (!options.wait) {
    const { untilListed } = await import('../../runs/list.ts');
    return untilListed(session, handle.workflowId);
  }
  const { followRestart } = await import('../../vm/follow-restart.ts');
  await followRestart(session, handle);
}
