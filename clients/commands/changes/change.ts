import { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import { applyChangeCommand } from './apply.ts';
import { planChangeCommand } from './plan.ts';
import { listChangesCommand, undoChangeCommand } from './undo.ts';

/** `drover change` and its commands. */
export function changeCommand(): Command {
  const change = new Command('change')
    .description('plan, apply or undo a change of any field of many VMs at once')
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
