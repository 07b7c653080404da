import { Command } from 'commander';
import { printData } from '../../cli/data.ts';
import { examples, formatOption } from '../../cli/options.ts';
import { note, print, table } from '../../cli/print.ts';
import { inSession } from '../../session/session.ts';

export const versionCommand = (): Command =>
  new Command('version')
    .description('show the versions of drover, its workers and definitions, Temporal, KubeVirt and Kubernetes')
    .addOption(formatOption(['json', 'yaml']))
    .option('--client', 'only that of this command, without asking a server')
    .addHelpText(
      'after',
      examples(
        ['What runs, and whether the versions match', 'drover version'],
        ["The workers' versions, for a script", 'drover version -o json | jq -r .workers[]'],
      ),
    )
    .action(({ output, client }: { output?: 'json' | 'yaml'; client?: true }, command: Command) =>
      inSession(command, async (session) => {
        const { readVersions, CLIENT } = await import('../../version/versions.ts');
        const { skewOf } = await import('../../version/skew.ts');
        const { versionRows } = await import('../../version/version-rows.ts');
        const versions = client === true ? CLIENT : await readVersions(session);
        if (output !== undefined) return printData(versions, output);
        for (const line of table(['WHAT', 'VERSION'], versionRows(versions), { headers: false })) print(line);
        for (const sentence of skewOf(versions)) note(`warning: ${sentence}`);
      }),
    );
