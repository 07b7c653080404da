import { Command } from 'commander';
import { dryRunOption, examples, reasonOption } from '../../cli/options.ts';
import type { DryRun } from '../../cli/parse-values.ts';
import { inSession } from '../../session/session.ts';

interface StartOptions {
  wait: boolean;
  reason?: string;
  dryRun: DryRun;
}

export const drainStartCommand = (): Command =>
  new Command('start')
    .description(
      'cordon a node and have its VMs leave it, those of pools with `drain` within their budgets, and follow that until ' +
        'none is left; other pods stay',
    )
    .argument('<node>', 'its name')
    .option('--no-wait', 'return as soon as all VMs were asked to leave')
    .addOption(reasonOption('`drain status`, and the annotation kubernetes.io/change-cause of the node'))
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['Empty a node of its VMs', 'drover drain start worker-7 --reason "kernel update"'],
        ['What would happen to each VM', 'drover drain start worker-7 --dry-run'],
        [
          'All pods, once the VMs have left',
          'drover drain start worker-7 && kubectl drain worker-7 --ignore-daemonsets',
        ],
      ),
    )
    .action((node: string, options: StartOptions, command: Command) =>
      inSession(command, async (session) => {
        const { drainNode } = await import('../../drain/start.ts');
        await drainNode(await session.kube(), node, options);
      }),
    );
