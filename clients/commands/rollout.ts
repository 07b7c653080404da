import { dryRunOption, formatOption, reasonOption } from '../cli/options.ts';
import { parseDuration } from '../cli/parse-values.ts';
import type { RequestOptions } from '../pool/request.ts';
import { Command, controlCommand, poolsCommand } from './command.ts';

const statusCommand = (): Command =>
  new Command('status')
    .description('show the progress of rollouts, why they wait, and what failed')
    .argument('[kind]', 'pool, or pool/NAME', 'pools')
    .argument('[names...]', 'names of pools')
    .option(
      '-w, --watch',
      'keep watching until each is over: the exit code is 0 when all are complete, 1 when one failed or was aborted',
    )
    .option('--timeout <duration>', 'how long --watch waits, such as 90s or 5m (default: no limit)', parseDuration)
    .addOption(formatOption(['json', 'yaml']))
    .examples(
      ['The rollouts of all pools of the namespace, now', 'drover rollout status'],
      ['Wait until the template is everywhere', 'drover rollout status pool web --watch --timeout 30m'],
      ['For a script', 'drover rollout status pool web -o json | jq -r .phase'],
    )
    .does(async () => (await import('../rollout/rollout-status.ts')).rolloutStatus);

const historyCommand = (): Command =>
  poolsCommand('history')
    .description('list the templates that a pool has had, who requested them, and how many VMs have them')
    .option('--revision <number|hash>', 'the template of this revision, as YAML')
    .addOption(formatOption(['json', 'yaml']))
    .examples(
      ['All revisions that are kept', 'drover rollout history pool web'],
      ['The template of one', 'drover rollout history pool web --revision 3'],
    )
    .does(async () => (await import('../rollout/history.ts')).rolloutHistory);

const diffCommand = (): Command =>
  poolsCommand('diff')
    .description('show what differs between two templates of a pool, and what VMIs need to go from one to the other')
    .option('--revision <number|hash>', 'from this revision (default: the last that all VMs had)')
    .option('--to <number|hash>', 'to this revision (default: the template that the pool has now)')
    .examples(
      ['What is rolled out now', 'drover rollout diff pool web'],
      ['What has changed since revision 3', 'drover rollout diff pool web --revision 3'],
      ['Two earlier ones', 'drover rollout diff pool web --revision 2 --to 3'],
    )
    .does(async () => (await import('../rollout/diff.ts')).rolloutDiff);

const pauseCommand = (): Command =>
  controlCommand('pause')
    .description(
      'start no more batches until `resume`; VMs that are restarting come back, and scaling and healing continue',
    )
    .examples(['Stop for a while', 'drover rollout pause pool web --reason "the database is slow"'])
    .does(async () => (await import('../rollout/pause-and-promote.ts')).pauseRollouts);

const resumeCommand = (): Command =>
  controlCommand('resume')
    .description('continue after a pause, a failure, an abort or an automatic undo')
    .examples(['Continue after a pause', 'drover rollout resume pool web'])
    .does(async () => (await import('../rollout/pause-and-promote.ts')).resumeRollouts);

const promoteCommand = (): Command =>
  controlCommand('promote')
    .description('pass the step at which the rollout waits')
    .option('--full', 'pass all steps, including steps that are not reached yet')
    .examples(
      ['The canaries run well: continue with the next step', 'drover rollout promote pool web'],
      ['Continue without further steps', 'drover rollout promote pool web --full'],
    )
    .does(async () => (await import('../rollout/pause-and-promote.ts')).promoteRollouts);

const abortCommand = (): Command =>
  controlCommand('abort')
    .description('end the rollout where it stands: VMs stay as they are, until `resume`, `undo` or another template')
    .examples(
      ['Leave everything as it is now', 'drover rollout abort pool web --reason "the new kernel panics"'],
      ['Then go back', 'drover rollout undo pool web'],
    )
    .does(async () => (await import('../rollout/pause-and-promote.ts')).abortRollouts);

const undoCommand = (): Command =>
  poolsCommand('undo')
    .description('give a pool an earlier template again, which is rolled out like any other')
    .option(
      '--to-revision <number|hash>',
      'this revision (default: the last that all VMs had, or else the newest before)',
    )
    .addOption(reasonOption())
    .addOption(dryRunOption())
    .examples(
      ['Back to what all VMs had', 'drover rollout undo pool web'],
      [
        'Back to an earlier one; first look at it',
        'drover rollout diff pool web --to 3 && drover rollout undo pool web --to-revision 3',
      ],
    )
    .does(async () => (await import('../rollout/undo.ts')).undoRollouts);

const restartCommand = (): Command =>
  poolsCommand('restart')
    .description('restart all VMs of a pool that run, within its budget, as a rollout')
    .option(
      '--drifted',
      'only VMs that users have changed: they are corrected to match their templates, and restart if necessary',
    )
    .addOption(reasonOption())
    .addOption(dryRunOption())
    .examples(
      [
        'Restart them, and wait until all are back',
        'drover rollout restart pool web && drover rollout status pool web --watch',
      ],
      ['Revert what users have changed in VMs', 'drover drift pool web; drover rollout restart pool web --drifted'],
    )
    .does(async ({ drifted }: RequestOptions & { drifted?: boolean }) =>
      drifted === true
        ? (await import('../drift/correct-drift.ts')).correctDrift
        : (await import('../rollout/restart.ts')).restartPools,
    );

export const rolloutCommand = (): Command =>
  new Command('rollout')
    .description("follow, control, undo and compare rollouts of a pool's template")
    .commandsBelow([
      statusCommand(),
      historyCommand(),
      diffCommand(),
      pauseCommand(),
      resumeCommand(),
      promoteCommand(),
      abortCommand(),
      undoCommand(),
      restartCommand(),
    ]);
