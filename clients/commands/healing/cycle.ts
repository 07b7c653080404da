import { Command } from 'commander';
import { throwAll, UsageError } from '../../cli/failure.ts';
import { Vms } from '../../cli/kinds.ts';
import { dryRunOption, dryRunRemark, examples, reasonOption } from '../../cli/options.ts';
import { plain, print } from '../../cli/print.ts';
import { labelOf } from '../../cli/targets.ts';
import type { CycleAction } from '../../healing/cycles.ts';
import type { RequestOptions } from '../../pool/request.ts';
import { inSession, type Session } from '../../session/session.ts';
import { poolAndVms } from '../membership/options.ts';

export const healNowCommand = (): Command =>
  cycle('now')
    .description(
      'retry the replacement of VMs now: skip the delay, even if healing is paused; heal VMs again that were given up or skipped',
    )
    .addHelpText(
      'after',
      examples(
        ['The cause is gone: recreate it at once', 'drover heal now pool web web-3'],
        ['The same, for two', 'drover heal now pool/web web-3 web-7'],
      ),
    );

export const healSkipCommand = (): Command =>
  cycle('skip')
    .description('stop replacing VMs, and leave each as it is until `drover heal now`')
    .addHelpText(
      'after',
      examples([
        'Leave a VM broken, to look into it',
        'drover heal skip pool web web-3 --reason "I am looking into it"',
      ]),
    );

const cycle = (action: CycleAction): Command =>
  new Command(action)
    .argument('<kind>', 'pool NAME, or pool/NAME')
    .argument('[vms...]', 'after the pool: the names of its VMs')
    .addOption(reasonOption())
    .addOption(dryRunOption())
    .action((word: string, words: string[], options: RequestOptions, command: Command) =>
      inSession(command, (session) => ask(session, [word, ...words], action, options)),
    );

async function ask(session: Session, words: string[], action: CycleAction, options: RequestOptions): Promise<void> {
  const { pool: name, vms } = poolAndVms(words);
  if (vms.length === 0) throw new UsageError(`which VMs of pool ${name}? Give their names`);
  const [{ onePool }, { askCycles, formatCycle }, { healView }] = await Promise.all([
    import('../../rollout/pools.ts'),
    import('../../healing/cycles.ts'),
    import('../../healing/view.ts'),
  ]);
  const { done, failures, pool } = await askCycles(
    session,
    await onePool(session, ['pool', name]),
    action,
    vms,
    options,
  );
  for (const [vm, words] of done) {
    const what = plain(`${labelOf(Vms.resource, vm)} ${words}${dryRunRemark(options.dryRun)}`);
    print(options.dryRun === 'none' ? `${what}\n  ${plain(formatCycle(healView(pool), vm, Date.now()))}` : what);
  }
  throwAll(failures);
}
