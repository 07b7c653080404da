import { kindArguments, OWNERS, Pools, Vms } from '../cli/kinds.ts';
import { dryRunOption, formatOption, withManifests } from '../cli/options.ts';
import { parseCount, parseDuration, parsePositiveDuration, parseBoolean } from '../cli/parse-values.ts';
import { vmNamesOf } from '../cli/targets.ts';
import { Command } from './command.ts';

export const applyCommand = (): Command =>
  withManifests(new Command('apply'))
    .description(
      'create or update pools, replica sets and disruption budgets from manifests; applies nothing if one is invalid',
    )
    .option('--force-conflicts', 'take over fields that other field managers have set')
    .option('--no-vm-check', 'skip the server-side dry run of a VM from the template')
    .option('--wait [boolean]', 'wait until all VMs are updated and available', parseBoolean, false)
    .option('--timeout <duration>', 'how long --wait waits, such as 90s or 5m (default: no limit)', parseDuration)
    .addOption(dryRunOption())
    .examples(
      ['A pool from a file', 'drover apply -f pool.yaml'],
      ['A pool, and wait until all its VMs run it', 'drover apply -f pool.yaml --wait --timeout 10m'],
      ['What the server would say, without a change', 'drover apply -f pools/ -R --dry-run'],
    )
    .does(async () => (await import('../apply/apply-manifests.ts')).applyManifests);

export const diffCommand = (): Command =>
  withManifests(new Command('diff'))
    .description('what `drover apply` would change, and what that would do to VMs; nothing is written')
    .option('--force-conflicts', 'as for apply: take over fields that other field managers have set')
    .option('--exit-code', 'exit with 1 if there is a difference, with 0 if there is none, and with 2 after an error')
    .examples(
      ['Before a change', 'drover diff -f pool.yaml'],
      ['In CI: does the cluster have what is in Git?', 'drover diff -f pools/ -R --exit-code'],
    )
    .does(async () => (await import('../apply/diff.ts')).diffManifests);

export const statusCommand = (): Command =>
  new Command('status')
    .description(
      'show the progress of pools or replica sets: VMs by state, operations in progress, recent errors; if named, why VMs are not ready',
    )
    .argument('[kind]', `${kindArguments(OWNERS)}, or KIND/NAME`, 'pools')
    .argument('[names...]', 'names of these objects')
    .option('-A, --all-namespaces', 'in all namespaces')
    .option('-l, --selector <selector>', 'only pools or sets with these labels, such as app=web,tier!=db')
    .addOption(formatOption(['json', 'yaml']))
    .option('-w, --watch', 'a live view, until Ctrl-C')
    .examples(
      ['All pools of the namespace, now', 'drover status'],
      ['One pool, live', 'drover status pool web --watch'],
      ['A replica set, live', 'drover status vmrs runners --watch'],
      ['Why VMs are not ready, for a program', "drover status pool web -o json | jq '.notReady'"],
      [
        'For a program: which pools lack VMs',
        "drover status -A -o json | jq '.items[] | select(.ready < .desired).name'",
      ],
      ['A record of everything that changes', 'drover status -A --watch > fleet.log'],
    )
    .does(async () => (await import('../owners/status.ts')).ownersStatus);

/** Parses `web-7,web-9`. */
const list = (text: string): string[] => {
  const names = text.split(',').map((name) => name.trim());
  return vmNamesOf(names.filter((name) => name !== ''));
};

export const scaleCommand = (): Command =>
  new Command('scale')
    .description('remove exactly these VMs of a pool; kubectl sets a number')
    .argument('<kind>', `${kindArguments([Pools])}, or KIND/NAME`)
    .argument('[name]', 'name of the pool')
    .requiredOption('--remove <names>', 'VMs, given as NAME,NAME…; the replicas are lowered by their number', list)
    .option('--current-replicas <count>', 'only if this is the current number', parseCount)
    .addOption(dryRunOption())
    .examples(['Two VMs fewer, and which', 'drover scale pool web --remove web-7,web-9'])
    .does(async () => (await import('../scaling/scale-pool.ts')).scalePool);

export const historyCommand = (): Command =>
  new Command('history')
    .description(
      'what drover has done to the VMs of a pool or replica set, or to a VM of any owner (restarts, machine type transitions, and what its pool or set did to it), ' +
        'as far back as it is on record: when, from what to what, who requested it, how it ended',
    )
    .argument('<kind>', `${kindArguments([...OWNERS, Vms])}, or KIND/NAME`)
    .argument('[names...]', 'names of these objects')
    .option('--vm <name>', 'only what was done to this VM')
    .option(
      '--since <duration>',
      'only what was in progress or ended within this time, such as 30m or 2d',
      parsePositiveDuration,
    )
    .addOption(formatOption(['json', 'yaml']))
    .examples(
      ['Everything that was done to the VMs of a pool', 'drover history pool web'],
      ['What happened to one of them', 'drover history pool web --vm web-3'],
      ['Which VMs of a replica set came and went', 'drover history vmrs runners'],
      ['What has restarted a VM, or changed its machine type', 'drover history vm db-1'],
      ['What was done since yesterday', 'drover history pool web --since 1d'],
      ['What went wrong', 'drover history pool web -o json | jq \'.[] | select(.end == "Failed")\''],
    )
    .does(async () => (await import('../history/history.ts')).showHistory);

export const driftCommand = (): Command =>
  new Command('drift')
    .description('list fields of VMs that users have changed, so that the VMs differ from their templates')
    .argument('[kind]', 'pool, or pool/NAME', 'pools')
    .argument('[names...]', 'names of these objects')
    .addOption(formatOption(['json', 'yaml']))
    .examples(
      ['All pools of the namespace', 'drover drift'],
      ['Look, and correct it', 'drover drift pool web && drover rollout restart pool web --drifted'],
      ['The names of the VMs', "drover drift pool web -o json | jq -r '.vms[].vm'"],
    )
    .does(async () => (await import('../drift/lines.ts')).printDrift);
