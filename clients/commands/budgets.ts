import { formatOption } from '../cli/options.ts';
import { Command } from './command.ts';

/** `drover budgets`: how many VMs of any owner may be down, and what takes the room. */
export const budgetsCommand = (): Command =>
  new Command('budgets')
    .description(
      'list disruption budgets; of one, show which VMs take its room, for whom and until when, and what waits',
    )
    .argument('[budget]', 'NAME, or cvmdb/NAME for a cluster-wide budget')
    .option('-A, --all-namespaces', 'in all namespaces')
    .addOption(formatOption(['json', 'yaml', 'name']))
    .examples(
      ['All of the cluster', 'drover budgets -A'],
      ['Why something waits for one', 'drover budgets db'],
      [
        'Those that have no room',
        `drover budgets -A -o json | jq -r '.items[] | select(.status.fullSince).metadata.name'`,
      ],
    )
    .does(async () => (await import('../budgets/show-budgets.ts')).showBudgets);
