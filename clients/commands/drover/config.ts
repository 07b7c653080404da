import type { Command as Commander } from 'commander';
import { formatOption } from '../../cli/options.ts';
import { printNote, print, table, printData } from '../../cli/print.ts';
import { inSession } from '../../session/session.ts';
import { environmentBefore, flagsOf } from '../../settings/apply-settings.ts';
import { Command } from '../command.ts';

export const configCommand = (): Command =>
  new Command('config')
    .description(
      'show the settings in force, and where each comes from: a flag, a variable, the settings file, a default',
    )
    .addOption(formatOption(['json', 'yaml', 'table']))
    .option('--worker', 'the settings of a worker started here; GET /config of a running worker shows its own')
    .examples(
      ['What commands use', 'drover config'],
      ['What a worker would use, with another settings file', 'drover config --worker --config east.yaml'],
    )
    .action(({ output, worker }: { output?: 'json' | 'yaml' | 'table'; worker?: true }, command: Commander) =>
      inSession(command, async (session) => {
        const { shownSettings } = await import('../../settings/show.ts');
        const options = { env: environmentBefore(command), flags: flagsOf(command), isWorker: worker === true };
        const shown = await shownSettings(session, options);
        if (output === 'json' || output === 'yaml') return printData(shown, output);
        printNote(shown.file === undefined ? 'there is no settings file' : `settings file: ${shown.file}`);
        const rows = shown.items.map(({ setting, value, from }) => [setting, value ?? '<none>', from]);
        print(table(['SETTING', 'VALUE', 'FROM'], rows));
      }),
    );
