import { Command } from 'commander';
import { formatOption } from '../../options.ts';
import type { DataFormat } from '../../rollout/data.ts';
import { inSession } from '../../session.ts';

export const listTransitionsCommand = (): Command =>
  new Command('list')
    .description('list the transitions that Temporal keeps, the newest first')
    .addOption(formatOption(['json', 'yaml']))
    .action(({ output }: { output?: DataFormat }, command: Command) =>
      inSession(command, async (session) => {
        const { listTransitions, printTransitions } = await import('../../machine-types/transitions.ts');
        await printTransitions(await listTransitions(session), output);
      }),
    );
