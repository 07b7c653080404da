import { dryRunOption, formatOption, reasonOption } from '../cli/options.ts';
import type { CycleAction } from '../healing/cycles.ts';
import { Command, controlCommand } from './command.ts';

const healStatusCommand = (): Command =>
  new Command('status')
    .description('VMs that are being replaced: which attempt, why, and when next; and how the last replacements ended')
    .argument('[kind]', 'pool, or pool/NAME', 'pools')
    .argument('[names...]', 'names of pools; all if none is given')
    .option('-w, --watch', 'show it as it changes, until Ctrl-C')
    .addOption(formatOption(['json', 'yaml']).conflicts('watch'))
    .examples(
      ['The healing of all pools of the namespace, now', 'drover heal status'],
      ['One of them, as it changes', 'drover heal status pool web --watch'],
      [
        'VMs that were given up',
        'drover heal status pool web -o json | jq -r \'.finished[] | select(.end == "GivenUp").vm\'',
      ],
    )
    .does(async () => (await import('../healing/healing-status.ts')).healStatus);

const pauseCommand = (): Command =>
  controlCommand('pause')
    .description('replace no unhealthy VM until `resume`; rollouts and scaling continue')
    .examples(['Replace none for a while', 'drover heal pause pool web --reason "the storage is slow"'])
    .does(async () => (await import('../healing/pause-and-resume.ts')).pauseHealing);

const resumeCommand = (): Command =>
  controlCommand('resume')
    .description('continue after a pause')
    .examples(['Continue after a pause', 'drover heal resume pool web'])
    .does(async () => (await import('../healing/pause-and-resume.ts')).resumeHealing);

const healNowCommand = (): Command =>
  cycle('now')
    .description(
      'retry the replacement of VMs now: skip the delay, even if healing is paused; heal VMs again that were given up or skipped',
    )
    .examples(
      ['The cause is gone: recreate it at once', 'drover heal now pool web web-3'],
      ['The same, for two', 'drover heal now pool/web web-3 web-7'],
    );

const healSkipCommand = (): Command =>
  cycle('skip')
    .description('stop replacing VMs, and leave each as it is until `drover heal now`')
    .examples([
      'Leave a VM broken, to look into it',
      'drover heal skip pool web web-3 --reason "I am looking into it"',
    ]);

const cycle = (action: CycleAction): Command =>
  new Command(action)
    .argument('<kind>', 'pool NAME, or pool/NAME')
    .argument('[vms...]', 'after the pool: the names of its VMs')
    .addOption(reasonOption())
    .addOption(dryRunOption())
    .does(async () => (await import('../healing/cycles.ts')).cycleCommand(action));

export const healCommand = (): Command =>
  new Command('heal')
    .description("follow and control the autohealing of a pool's VMs")
    .commandsBelow([healStatusCommand(), pauseCommand(), resumeCommand(), healNowCommand(), healSkipCommand()]);
