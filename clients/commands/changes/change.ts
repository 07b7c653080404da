import { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import { planChangeCommand } from './plan.ts';

/** `drover change` and its commands. */
export function changeCommand(): Command {
  const change = new Command('change')
    .description('a change of many VMs at once, of any field: what it would do')
    .addHelpText(
      'after',
      examples([
        'What would another eviction strategy do?',
        'drover change plan -l app=db --set spec.template.spec.evictionStrategy=LiveMigrate',
      ]),
    );
  change.addCommand(planChangeCommand());
  return change;
}
