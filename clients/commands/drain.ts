import { dryRunOption, formatOption, reasonOption } from '../cli/options.ts';
import { Command } from './command.ts';

const onNode = (verb: string, description: string): Command =>
  new Command(verb).description(description).argument('<node>', 'its name');

const startCommand = (): Command =>
  onNode(
    'start',
    'cordon a node and have its VMs leave it, VMs of pools with `drain` and VMs under disruption budgets within these, and follow that ' +
      'until none is left; other pods stay',
  )
    .option('--shut-down', 'also shut down VMs that can only leave so, and whose pools have no `drain`')
    .option(
      '--past-budgets',
      'have no VM wait for a disruption budget, but for that of its pool, if you may override both kinds',
    )
    .option('--no-wait', 'return as soon as all VMs were asked to leave')
    .addOption(reasonOption('`drain status`, and the annotation kubernetes.io/change-cause of the node'))
    .addOption(dryRunOption())
    .examples(
      ['Empty a node of its VMs', 'drover drain start worker-7 --reason "kernel update"'],
      ['What would happen to each VM', 'drover drain start worker-7 --dry-run'],
      ['Shut down what cannot move', 'drover drain start worker-7 --shut-down'],
      ['Have VMs leave that a budget holds', 'drover drain start worker-7 --past-budgets --reason "broken memory"'],
      ['All pods, once the VMs have left', 'drover drain start worker-7 && kubectl drain worker-7 --ignore-daemonsets'],
    )
    .does(async () => (await import('../drain/start.ts')).drainNode);

const statusCommand = (): Command =>
  onNode('status', 'which VMIs are left on a node, and what each waits for to leave it')
    .option('-w, --watch', 'keep watching until no VMI is left')
    .addOption(formatOption(['json', 'yaml']).conflicts('watch'))
    .examples(
      ['What a drain waits for', 'drover drain status worker-7'],
      ['Wait until the node is empty', 'drover drain status worker-7 --watch'],
      ['What needs a user', `drover drain status worker-7 -o json | jq '.items[] | select(.state == "Stuck")'`],
    )
    .does(async () => (await import('../drain/node-status.ts')).nodeStatus);

const cancelCommand = (): Command =>
  onNode('cancel', 'uncordon a node, and have the VMs stay that have not begun to leave it')
    .addOption(dryRunOption())
    .examples(['Call a drain off', 'drover drain cancel worker-7'])
    .does(async () => (await import('../drain/cancel.ts')).cancelNodesDrain);

export const drainCommand = (): Command =>
  new Command('drain')
    .description('have VMs leave a node, see what each waits for, and cancel that')
    .commandsBelow([startCommand(), statusCommand(), cancelCommand()]);
