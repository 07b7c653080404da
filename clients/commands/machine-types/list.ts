import { Command } from 'commander';
import { formatOption } from '../../cli/options.ts';
import type { DataFormat } from '../../rollout/data.ts';
import { inSession } from '../../session/session.ts';

export const listTransitionsCommand = (): Command =>
  new Command('list')
    .description('list the transitions that Temporal keeps, the newest first')
    .addOption(formatOption(['json', 'yaml']))
    .action(({ output }: { output?: DataFormat }, command: Command) =>
      inSession(command, async (session) => {
        const [{ listTransitions, printTransitions }, { remarkOnCluster }] = await Promise.all([
          import('../../machine-types/transitions.ts'),
          import('../../session/unknown-cluster.ts'),
        ]);
        const transitions = await listTransitions(session);
        if (transitions.length === 0) await remarkOnCluster(session);
        await printTransitions(transitions, output);
      }),
    );
