import { Command } from 'commander';
import { examples, formatOption } from '../../cli/options.ts';
import type { DataFormat } from '../../rollout/data.ts';
import { inSession } from '../../session/session.ts';

export const drainStatusCommand = (): Command =>
  new Command('status')
    .description('show which VMIs are left on a node, and what each waits for to leave it')
    .argument('<node>', 'its name')
    .addOption(formatOption(['json', 'yaml']))
    .addHelpText(
      'after',
      examples(
        ['What a drain waits for', 'drover drain status worker-7'],
        ['What needs a person', `drover drain status worker-7 -o json | jq '.items[] | select(.state == "Stuck")'`],
      ),
    )
    .action((node: string, { output }: { output?: DataFormat }, command: Command) =>
      inSession(command, async (session) => {
        const { printNode } = await import('../../drain/status.ts');
        await printNode(await session.kube(), node, output);
      }),
    );
