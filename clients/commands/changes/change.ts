import { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import { applyChangeCommand } from './apply.ts';
import { planChangeCommand } from './plan.ts';
import { listChangesCommand, undoChangeCommand } from './undo.ts';

/** `drover change` and its commands. */
export function changeCommand(): Command {
  const change = new Command('change')
    .description(
      'a change of many VMs at once, of any field: what it would do, the change itself, and how it is taken back',
    )
    .addHelpText(
      'after',
      examples([
        'What would another eviction strategy do?',
        'drover change plan -l app=db --set spec.template.spec.evictionStrategy=LiveMigrate',
      ]),
    );
  const commands = [planChangeCommand(), applyChangeCommand(), undoChangeCommand(), listChangesCommand()];
  for (const command of commands) change.addCommand(command);
  return change;
}
