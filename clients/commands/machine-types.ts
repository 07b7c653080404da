import { Command } from 'commander';
import { examples } from '../options.ts';
import { transitionSignalCommands } from './machine-types/control.ts';
import { listTransitionsCommand } from './machine-types/list.ts';
import { planMachineTypesCommand } from './machine-types/plan.ts';
import { transitionReportCommand } from './machine-types/report.ts';
import { transitionStatusCommand } from './machine-types/status.ts';
import { typesCommand } from './machine-types/types.ts';
import { undoTransitionCommand } from './machine-types/undo.ts';
import { updateMachineTypesCommand } from './machine-types/update.ts';

/** `drover machine-types`, with its commands beneath it. */
export function machineTypesCommand(): Command {
  const machineTypes = new Command('machine-types')
    .description('machine types of VMs of any owner: which are in use and which are old, and their change in many VMs at once')
    .addHelpText(
      'after',
      examples(
        ['Which are in use, and which of them are old', 'drover machine-types types'],
        ['What would become of them', "drover machine-types plan --which-matches-glob '*rhel8.*'"],
        ['Give VMs the default in their place, and restart their guests, a few at a time', "drover machine-types update --which-matches-glob '*rhel8.*' --restart-now"],
        ['How far that is', 'drover machine-types status --watch'],
      ),
    );
  const about = [typesCommand(), planMachineTypesCommand()];
  const transitions = [updateMachineTypesCommand(), listTransitionsCommand(), transitionStatusCommand(), ...transitionSignalCommands()];
  const after = [undoTransitionCommand(), transitionReportCommand()];
  for (const command of [...about, ...transitions, ...after]) machineTypes.addCommand(command);
  return machineTypes;
}
