import { Command } from 'commander';
import { examples, formatOption } from '../../cli/options.ts';
import type { ReportFormat } from '../../machine-types/print-report.ts';
import { inSession } from '../../session/session.ts';

export const transitionReportCommand = (): Command =>
  new Command('report')
    .description(
      'what a transition has done to each VM, also long after its end: its type before and after, how it stands, and why',
    )
    .argument('[name]', 'of the operation, as `list` shows it, or its UID; by default the running one, or the newest')
    .addOption(formatOption(['json', 'csv']))
    .addHelpText(
      'after',
      examples(
        ['For a spreadsheet', 'drover machine-types report machine-types-x7k2p -o csv > report.csv'],
        [
          'VMs whose VMIs still have the old type',
          'drover machine-types report -o json | jq -r \'.items[] | select(.state == "Waiting") | .namespace + "/" + .name\'',
        ],
      ),
    )
    .action((name: string | undefined, { output }: { output?: ReportFormat }, command: Command) =>
      inSession(command, async (session) => {
        const { printReport } = await import('../../machine-types/print-report.ts');
        await printReport(session, name, output);
      }),
    );
