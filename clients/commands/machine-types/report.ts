import { Command } from 'commander';
import { examples, formatOption } from '../../cli/options.ts';
import type { ReportFormat } from '../../machine-types/print-report.ts';
import { inSession } from '../../session/session.ts';

export const transitionReportCommand = (): Command =>
  new Command('report')
    .description(
      'what a transition has done to each VM, also long after its end: its type before and after, how it stands, and why',
    )
    .argument('[id]', 'as `list` shows it, or its last part; without, the one that runs, or the newest')
    .addOption(formatOption(['json', 'csv']))
    .addHelpText(
      'after',
      examples(
        ['For a spreadsheet', 'drover machine-types report 1f0c92ab -o csv > report.csv'],
        [
          'VMs whose VMIs still have the old type',
          'drover machine-types report -o json | jq -r \'.items[] | select(.state == "Waiting") | .namespace + "/" + .name\'',
        ],
      ),
    )
    .action((id: string | undefined, { output }: { output?: ReportFormat }, command: Command) =>
      inSession(command, async (session) => {
        const [{ runMeant }, { Transitions }, { printReport }] = await Promise.all([
          import('../../runs/meant.ts'),
          import('../../machine-types/run-kind.ts'),
          import('../../machine-types/print-report.ts'),
        ]);
        await printReport(session, await runMeant(session, Transitions, id, { orNewest: true }), output);
      }),
    );
