import { Command } from 'commander';
import { examples, formatOption } from '../../cli/options.ts';
import type { DataFormat } from '../../cli/print.ts';
import { inSession } from '../../session/session.ts';

export const drainStatusCommand = (): Command =>
  new Command('status')
    .description('which VMIs are left on a node, and what each waits for to leave it')
    .argument('<node>', 'its name')
    .option('-w, --watch', 'keep watching until no VMI is left')
    .addOption(formatOption(['json', 'yaml']).conflicts('watch'))
    .addHelpText(
      'after',
      examples(
        ['What a drain waits for', 'drover drain status worker-7'],
        ['Wait until the node is empty', 'drover drain status worker-7 --watch'],
        ['What needs a user', `drover drain status worker-7 -o json | jq '.items[] | select(.state == "Stuck")'`],
      ),
    )
    .action((node: string, { watch, output }: { watch?: boolean; output?: DataFormat }, command: Command) =>
      inSession(command, async (session) => {
        const { followNode, printNode } = await import('../../drain/node-status.ts');
        const kube = await session.kube();
        await (watch === true ? followNode(kube, node) : printNode(kube, node, output));
      }),
    );
