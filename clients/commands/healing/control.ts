import { Command } from 'commander';
import { Pools } from '../../cli/kinds.ts';
import { dryRunOption, dryRunRemark, examples, reasonOption } from '../../cli/options.ts';
import { print } from '../../cli/output.ts';
import { labelOf } from '../../cli/targets.ts';
import type { DryRun } from '../../cli/values.ts';
import type * as controls from '../../healing/control.ts';
import { inSession, type Session } from '../../session/session.ts';

interface ControlOptions {
  reason?: string;
  dryRun: DryRun;
}

export const healPauseCommand = (): Command =>
  control('pause', ({ pause }) => pause)
    .description('replace no sick VM until `resume`; rollouts and scaling go on')
    .addOption(reasonOption())
    .addHelpText('after', examples(['Stop for a while', 'drover heal pause pool web --reason "the storage is slow"']));

export const healResumeCommand = (): Command =>
  control('resume', ({ resume }) => resume)
    .description('go on after a pause')
    .addHelpText('after', examples(['Go on', 'drover heal resume pool web']));

type Which = (all: typeof controls) => controls.HealControl;

const control = (name: string, which: Which): Command =>
  new Command(name)
    .argument('<kind>', 'pool, or pool/NAME')
    .argument('[names...]')
    .addOption(dryRunOption())
    .action((word: string, words: string[], options: ControlOptions, command: Command) =>
      inSession(command, (session) => sendControl(session, [word, ...words], which, options)),
    );

async function sendControl(session: Session, words: string[], which: Which, options: ControlOptions): Promise<void> {
  const [{ namedPools }, all, { stateLines }, { healView }] = await Promise.all([
    import('../../rollout/pools.ts'),
    import('../../healing/control.ts'),
    import('../../healing/lines.ts'),
    import('../../healing/view.ts'),
  ]);
  const asked = which(all);
  for (const pool of await namedPools(session, words)) {
    const after = healView(await all.controlHealing(session, pool, asked, options));
    print(`${labelOf(Pools.resource, after.pool)} ${asked.done}${dryRunRemark(options.dryRun)}`);
    if (options.dryRun !== 'none') continue;
    for (const line of stateLines(after, Date.now())) print(`  ${line}`);
  }
}
