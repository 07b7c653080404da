import { Command } from 'commander';
import { Pools } from '../../cli/kinds.ts';
import { dryRunOption, dryRunRemark, examples, reasonOption } from '../../cli/options.ts';
import type { DryRun } from '../../cli/parse-values.ts';
import { note, print } from '../../cli/print.ts';
import { labelOf } from '../../cli/targets.ts';
import { inSession, type Session } from '../../session/session.ts';

interface UndoOptions {
  toRevision?: string;
  reason?: string;
  dryRun: DryRun;
}

export const undoCommand = (): Command =>
  new Command('undo')
    .description('give a pool an earlier template again, which rolls out like any other')
    .argument('<kind>', 'pool, or pool/NAME')
    .argument('[names...]')
    .option(
      '--to-revision <number|hash>',
      'this one (default: the last one that all VMs had, or else the newest before)',
    )
    .addOption(reasonOption())
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['Back to what all VMs had', 'drover rollout undo pool web'],
        [
          'Back to an earlier one; first look at it',
          'drover rollout diff pool web --to 3 && drover rollout undo pool web --to-revision 3',
        ],
      ),
    )
    .action((word: string, words: string[], options: UndoOptions, command: Command) =>
      inSession(command, (session) => undo(session, [word, ...words], options)),
    );

async function undo(session: Session, words: string[], options: UndoOptions): Promise<void> {
  const [{ namedPools }, { undoRollout }] = await Promise.all([
    import('../../rollout/pools.ts'),
    import('../../rollout/undo.ts'),
  ]);
  const pools = await namedPools(session, words);
  const kube = await session.kube();
  for (const pool of pools) {
    const { sentence, remarks } = await undoRollout(kube, pool, options);
    print(sentence);
    for (const remark of remarks) note(remark);
  }
}

interface RestartOptions {
  reason?: string;
  drifted?: boolean;
  dryRun: DryRun;
}

export const restartCommand = (): Command =>
  new Command('restart')
    .description('restart all VMs of a pool that run, within its budget, as a rollout')
    .argument('<kind>', 'pool, or pool/NAME')
    .argument('[names...]')
    .option(
      '--drifted',
      'only VMs that users have changed: they are corrected to match their templates, and restart if necessary',
    )
    .addOption(reasonOption())
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        [
          'Restart them, and wait until all are back',
          'drover rollout restart pool web && drover rollout status pool web --watch',
        ],
        ['Revert what users have changed in VMs', 'drover drift pool web; drover rollout restart pool web --drifted'],
      ),
    )
    .action((word: string, words: string[], options: RestartOptions, command: Command) =>
      inSession(command, (session) =>
        (options.drifted === true ? correctDrift : restart)(session, [word, ...words], options),
      ),
    );

async function correctDrift(session: Session, words: string[], { reason, dryRun }: RestartOptions): Promise<void> {
  const [{ namedPools }, { orderCorrection }, { requestedBy }] = await Promise.all([
    import('../../rollout/pools.ts'),
    import('../../drift/correct-drift.ts'),
    import('../../session/requester.ts'),
  ]);
  const pools = await namedPools(session, words);
  const kube = await session.kube();
  const who = await requestedBy(async () => kube);
  const by = reason === undefined ? who : `${who}: ${reason}`;
  for (const pool of pools) await orderCorrection(kube, pool, { by, dryRun });
}

async function restart(session: Session, words: string[], { reason, dryRun }: RestartOptions): Promise<void> {
  const [{ namedPools }, { restarted }, { changeTemplate, remarksOn }, { poolTemplate }] = await Promise.all([
    import('../../rollout/pools.ts'),
    import('../../rollout/restart.ts'),
    import('../../rollout/change-template.ts'),
    import('../../../decisions/template/template.ts'),
  ]);
  const pools = await namedPools(session, words);
  const kube = await session.kube();
  const at = new Date().toISOString();
  for (const pool of pools) {
    const template = restarted(poolTemplate(pool.spec), at);
    await changeTemplate(kube, pool, { template, cause: reason ?? 'restart of all VMs' }, dryRun);
    const { replicas = 0 } = pool.status ?? {};
    const vms = dryRun === 'none' ? '' : `: ${replicas} ${replicas === 1 ? 'VM' : 'VMs'}, those that run`;
    print(`${labelOf(Pools.resource, pool.metadata.name)} restarted${dryRunRemark(dryRun)}${vms}`);
    for (const remark of remarksOn(pool)) note(remark);
  }
}
