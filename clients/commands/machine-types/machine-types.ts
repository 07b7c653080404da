import { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import { commandsFor } from '../operations/operations.ts';
import { planMachineTypesCommand } from './plan.ts';
import { transitionReportCommand } from './report.ts';
import { typesCommand } from './types.ts';
import { undoTransitionCommand } from './undo.ts';
import { updateMachineTypesCommand } from './update.ts';

/** `drover machine-types` and its commands. */
export function machineTypesCommand(): Command {
  const machineTypes = new Command('machine-types')
    .description(
      'machine types of VMs of any owner: which are in use and which are old, and their change in many VMs at once',
    )
    .addHelpText(
      'after',
      examples(
        ['Which are in use, and which of them are old', 'drover machine-types types'],
        ['What would happen to them', "drover machine-types plan --which-matches-glob '*rhel8.*'"],
        [
          'Give VMs the default in their place, and restart their VMIs, a few at a time',
          "drover machine-types update --which-matches-glob '*rhel8.*' --restart-now",
        ],
        ['How far that is', 'drover machine-types status --watch'],
      ),
    );
  const about = [typesCommand(), planMachineTypesCommand(), updateMachineTypesCommand()];
  const after = [undoTransitionCommand(), transitionReportCommand()];
  for (const command of [...about, ...commandsFor('list', 'status', { action: 'MachineType' }), ...after])
    machineTypes.addCommand(command);
  return machineTypes;
}
