import { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import { abortCommand, pauseCommand, promoteCommand, resumeCommand } from './control.ts';
import { diffCommand } from './diff.ts';
import { historyCommand } from './history.ts';
import { rolloutStatusCommand } from './status.ts';
import { restartCommand, undoCommand } from './template.ts';

/** `drover rollout` and its commands. */
export function rolloutCommand(): Command {
  const rollout = new Command('rollout')
    .description("follow, control, undo and compare rollouts of a pool's template")
    .addHelpText(
      'after',
      examples(
        [
          'Wait until a new template is everywhere',
          'drover apply -f pool.yaml && drover rollout status pool web --watch',
        ],
        ['What would it change, and what does that take?', 'drover rollout diff pool web'],
        ['Stop it, and go back', 'drover rollout undo pool web'],
      ),
    );
  for (const command of [
    rolloutStatusCommand(),
    historyCommand(),
    diffCommand(),
    pauseCommand(),
    resumeCommand(),
    promoteCommand(),
    abortCommand(),
    undoCommand(),
    restartCommand(),
  ]) {
    rollout.addCommand(command);
  }
  return rollout;
}
