import { Command } from 'commander';
import { dryRunOption, examples } from '../../cli/options.ts';
import type { DryRun } from '../../cli/parse-values.ts';
import { note, print } from '../../cli/print.ts';
import { inSession } from '../../session/session.ts';

export const drainCancelCommand = (): Command =>
  new Command('cancel')
    .description('uncordon a node, and have the VMs stay that have not begun to leave it')
    .argument('<node>', 'its name')
    .addOption(dryRunOption())
    .addHelpText('after', examples(['Call a drain off', 'drover drain cancel worker-7']))
    .action((node: string, { dryRun }: { dryRun: DryRun }, command: Command) =>
      inSession(command, async (session) => {
        const { cancelDrain } = await import('../../drain/cancel.ts');
        const { sentence, remarks } = await cancelDrain(await session.kube(), node, dryRun);
        print(sentence);
        for (const remark of remarks) note(remark);
      }),
    );
