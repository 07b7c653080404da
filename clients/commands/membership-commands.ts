import { Option } from 'commander';
import { dryRunOption } from '../cli/options.ts';
import { parsePositiveDuration } from '../cli/parse-values.ts';
import { Command } from './command.ts';

/** `--timeout`: how long to wait for a worker, or for KubeVirt. */
const timeoutOption = (): Option =>
  new Option('--timeout <duration>', 'how long to wait for a worker, such as 90s or 5m')
    .default(60_000, '1m')
    .argParser(parsePositiveDuration);

export const adoptCommand = (): Command =>
  new Command('adopt')
    .description('adopt VMs without an owner into a pool and raise its replicas; they keep running untouched')
    .argument('<kind>', 'pool NAME, or pool/NAME')
    .argument('[vms...]', 'after the pool: the names of the VMs')
    .option('-l, --selector <selector>', 'all VMs without an owner that have these labels, as in tier=web,!old')
    .option('--keep-replicas', 'keep spec.replicas as it is: surplus VMs then leave')
    .addOption(timeoutOption())
    .addOption(dryRunOption())
    .examples(
      ['What they would need to match the template', 'drover adopt pool web -l tier=web --dry-run'],
      ['Two, by name', 'drover adopt pool/web web-7 old-web'],
    )
    .does(async () => (await import('../membership/adopt.ts')).adoptVms);

export const attachCommand = (): Command =>
  new Command('attach')
    .description('return detached VMs to their pool and raise its replicas; they keep running untouched')
    .argument('<vms...>', 'the names of the VMs')
    .option('--pool <name>', 'the pool (default: the pool that each VM was detached from)')
    .option('--keep-replicas', 'keep spec.replicas as it is: surplus VMs then leave')
    .addOption(timeoutOption())
    .addOption(dryRunOption())
    .examples(
      ['Back to the pool that it was detached from', 'drover attach web-3'],
      ['Back, and another VM leaves in its place', 'drover attach web-3 --keep-replicas'],
    )
    .does(async () => (await import('../membership/attach.ts')).attachVms);

export const detachCommand = (): Command =>
  new Command('detach')
    .description('take VMs out of their pools; they keep running untouched, and their numbers are not reused meanwhile')
    .argument('<vms...>', 'the names of the VMs')
    .option('--decrement', 'lower replicas by the number of VMs; by default the pool creates replacements')
    .addOption(timeoutOption())
    .addOption(dryRunOption())
    .examples(
      ['Look into a VM while another request replaces it', 'drover detach web-3'],
      ['Keep a VM, and make the pool one smaller', 'drover detach web-3 --decrement'],
    )
    .does(async () => (await import('../membership/detach.ts')).detachVms);

/** `drover takeover`: moves the VMs of a KubeVirt pool to one of drover's. */
export const takeoverCommand = (): Command =>
  moveCommand('takeover', 'vmpool')
    .description(
      'move the VMs of a KubeVirt pool to a drover pool, without a restart; run it again to continue where it stopped',
    )
    .examples(
      ['What would happen to each VM', 'drover takeover vmpool web --dry-run'],
      ['Move them', 'drover takeover vmpool web'],
    )
    .does(async () => (await import('../membership/takeover.ts')).takeOver);

/** `drover release`: moves them back. */
export const releaseCommand = (): Command =>
  moveCommand('release', 'pool')
    .description(
      'move the VMs of a pool to a KubeVirt pool, without a restart; also reverts a takeover that has not ended',
    )
    .examples(
      ['What KubeVirt cannot express', 'drover release pool web --dry-run'],
      ['Move them', 'drover release pool web'],
    )
    .does(async () => (await import('../membership/release.ts')).releasePool);

const moveCommand = (name: string, kind: string): Command =>
  new Command(name)
    .argument('<kind>', `${kind} NAME, or ${kind}/NAME`)
    .argument('[names...]', 'its name')
    .addOption(timeoutOption())
    .addOption(dryRunOption());
