import { Command } from 'commander';
import { printData } from '../../cli/data.ts';
import { Failure } from '../../cli/failure.ts';
import { examples, formatOption } from '../../cli/options.ts';
import { print, table } from '../../cli/print.ts';
import { inSession } from '../../session/session.ts';
import { workerOption, type WorkerOption } from './worker-account.ts';

interface DoctorOptions extends WorkerOption {
  output?: 'json' | 'yaml';
  send?: boolean;
}

export const doctorCommand = (): Command =>
  new Command('doctor')
    .description('look at everything that drover needs, and say what to mend; the exit code is 1 if a check failed')
    .addOption(workerOption())
    .option('--send', 'have each receiver of notifications sent an event that says nothing')
    .addOption(formatOption(['json', 'yaml']))
    .addHelpText(
      'after',
      `
It looks at the API server, your rights and the workers', drover's custom resources and admission policies, KubeVirt,
CDI, the clock, Temporal, the workers that run, and who is told by them. It changes nothing: what it has to try is a dry run.
${examples(
  ['After an installation or an upgrade', 'drover doctor'],
  [
    'The checks that failed, for a script',
    'drover doctor -o json | jq -r \'.items[] | select(.outcome == "Failed").check\'',
  ],
)}`,
    )
    .action(({ worker, output, send }: DoctorOptions, command: Command) =>
      inSession(command, async (session) => {
        const [{ examine }, { findingRows, HEADERS, summaryOf }] = await Promise.all([
          import('../../doctor/examine.ts'),
          import('../../doctor/finding-rows.ts'),
        ]);
        const findings = await examine(session, worker, send);
        if (output === undefined) for (const line of table(HEADERS, findingRows(findings))) print(line);
        else await printData({ items: findings }, output);
        if (findings.some(({ outcome }) => outcome === 'Failed')) throw new Failure(summaryOf(findings));
        if (output === undefined) print(summaryOf(findings));
      }),
    );
