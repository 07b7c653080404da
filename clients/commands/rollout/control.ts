import type { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import type * as controls from '../../rollout/pause-and-promote.ts';
import { controlCommand, type ControlOptions } from '../control.ts';

type Which = (all: typeof controls, options: ControlOptions) => (typeof controls)['pause'];

const control = (name: string, which: Which): Command =>
  controlCommand(name, async (options) => {
    const all = await import('../../rollout/pause-and-promote.ts');
    return [all.Rollout, which(all, options)];
  });

export const pauseCommand = (): Command =>
  control('pause', ({ pause }) => pause)
    .description(
      'start no more batches until `resume`; VMs that are restarting come back, and scaling and healing continue',
    )
    .addHelpText(
      'after',
      examples(['Stop for a while', 'drover rollout pause pool web --reason "the database is slow"']),
    );

export const resumeCommand = (): Command =>
  control('resume', ({ resume }) => resume)
    .description('continue after a pause, a failure, an abort or an automatic undo')
    .addHelpText('after', examples(['Go on', 'drover rollout resume pool web']));

export const promoteCommand = (): Command =>
  control('promote', ({ promote }, { full }) => promote(full === true))
    .description('pass the step at which the rollout waits')
    .option('--full', 'pass all steps, also those that are not reached yet')
    .addHelpText(
      'after',
      examples(
        ['The canaries run well: continue with the next step', 'drover rollout promote pool web'],
        ['Continue without further steps', 'drover rollout promote pool web --full'],
      ),
    );

export const abortCommand = (): Command =>
  control('abort', ({ abort }) => abort)
    .description('end the rollout where it stands: VMs stay as they are, until `resume`, `undo` or another template')
    .addHelpText(
      'after',
      examples(
        ['Leave everything as it is now', 'drover rollout abort pool web --reason "the new kernel panics"'],
        ['Then go back', 'drover rollout undo pool web'],
      ),
    );
