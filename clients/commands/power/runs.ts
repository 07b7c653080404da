import { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import { runCommands } from '../runs.ts';

/** `drover vm runs`, which lists starts, stops and restarts of VMs, and its commands for one of them. */
export function runsCommand(): Command {
  const runs = new Command('runs')
    .description('what `drover vm start`, `stop` and `restart` have begun: list, follow and control it')
    .addHelpText(
      'after',
      examples(
        ['All that Temporal keeps', 'drover vm runs'],
        ['Follow the one that runs', 'drover vm runs status --watch'],
        [
          'Stop one for a while, and go on',
          'drover vm runs pause 1f0c92ab --reason lunch && drover vm runs resume 1f0c92ab',
        ],
      ),
    );
  const commands = runCommands({
    load: async () => (await import('../../power/run-kind.ts')).PowerRuns,
    one: 'a run',
    signals: {
      pause: 'touch no further VM until `resume`; those in progress are followed to their end',
      resume: 'go on after a pause',
      abort: 'touch no further VM; the run ends once those in progress are done',
    },
    shown: [
      ['Follow the one that runs', 'drover vm runs status --watch'],
      ['What failed', "drover vm runs status 1f0c92ab -o json | jq '.failed'"],
    ],
  });
  for (const command of commands) runs.addCommand(command, { isDefault: command.name() === 'list' });
  return runs;
}
