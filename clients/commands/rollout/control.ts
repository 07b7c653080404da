import { Command } from 'commander';
import { Pools } from '../../cli/kinds.ts';
import { dryRunOption, dryRunRemark, examples, reasonOption } from '../../cli/options.ts';
import { print } from '../../cli/output.ts';
import { labelOf } from '../../cli/targets.ts';
import type { DryRun } from '../../cli/values.ts';
import type * as controls from '../../rollout/control.ts';
import { inSession, type Session } from '../../session/session.ts';

interface ControlOptions {
  reason?: string;
  full?: boolean;
  dryRun: DryRun;
}

export const pauseCommand = (): Command =>
  control('pause', ({ pause }) => pause)
    .description(
      'start no more batches until `resume`; VMs that are restarting come back, and scaling and healing continue',
    )
    .addOption(reasonOption())
    .addHelpText(
      'after',
      examples(['Stop for a while', 'drover rollout pause pool web --reason "the database is slow"']),
    );

export const resumeCommand = (): Command =>
  control('resume', ({ resume }) => resume)
    .description('go on after a pause, a failure, an abort, or an undo that a failure has brought about')
    .addOption(reasonOption())
    .addHelpText('after', examples(['Go on', 'drover rollout resume pool web']));

export const promoteCommand = (): Command =>
  control('promote', ({ promote }, { full }) => promote(full === true))
    .description('pass the step at which the rollout waits')
    .option('--full', 'pass all steps, also those that are not reached yet')
    .addOption(reasonOption())
    .addHelpText(
      'after',
      examples(
        ['The canaries are well: go on to the next step', 'drover rollout promote pool web'],
        ['Go on without any more steps', 'drover rollout promote pool web --full'],
      ),
    );

export const abortCommand = (): Command =>
  control('abort', ({ abort }) => abort)
    .description('end the rollout where it stands: VMs stay as they are, until `resume`, `undo` or another template')
    .addOption(reasonOption())
    .addHelpText(
      'after',
      examples(
        ['Leave everything as it is now', 'drover rollout abort pool web --reason "the new kernel panics"'],
        ['Then go back', 'drover rollout undo pool web'],
      ),
    );

type Which = (all: typeof controls, options: ControlOptions) => controls.Control;

const control = (name: string, which: Which): Command =>
  new Command(name)
    .argument('<kind>', 'pool, or pool/NAME')
    .argument('[names...]')
    .addOption(dryRunOption())
    .action((word: string, words: string[], options: ControlOptions, command: Command) =>
      inSession(command, (session) => sendControl(session, [word, ...words], which, options)),
    );

async function sendControl(session: Session, words: string[], which: Which, options: ControlOptions): Promise<void> {
  const [{ namedPools }, all, { rolloutLines }, { knownRevisions }, { rolloutView }] = await Promise.all([
    import('../../rollout/pools.ts'),
    import('../../rollout/control.ts'),
    import('../../rollout/lines.ts'),
    import('../../rollout/revisions/revisions.ts'),
    import('../../rollout/view.ts'),
  ]);
  const asked = which(all, options);
  const pools = await namedPools(session, words);
  const kube = await session.kube();
  for (const pool of pools) {
    const after = await all.controlRollout(session, pool, asked, options);
    const { name } = pool.metadata;
    print(`${labelOf(Pools.resource, name)} ${asked.done}${dryRunRemark(options.dryRun)}`);
    if (options.dryRun !== 'none') continue;
    for (const line of rolloutLines(rolloutView(after, await knownRevisions(kube, after)), Date.now()))
      print(`  ${line}`);
    all.checkAfter(asked, after);
  }
}
