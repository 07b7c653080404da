import { Command } from 'commander';
import { KubeVirtPools } from '../../../api/resources.ts';
import { UsageError } from '../../cli/failure.ts';
import { Pools, type Kind } from '../../cli/kinds.ts';
import { dryRunOption, examples } from '../../cli/options.ts';
import { namedTargetsOf } from '../../cli/targets.ts';
import type { HandoverOptions, PoolAt } from '../../membership/request-members.ts';
import { inSession, type Session } from '../../session/session.ts';
import { timeoutOption } from './options.ts';

const KubeVirtPoolKind: Kind = {
  resource: KubeVirtPools,
  words: ['vmpool', 'vmpools', 'virtualmachinepool.pool.kubevirt.io', 'virtualmachinepools.pool.kubevirt.io'],
  noun: "pool of KubeVirt's",
};

type Move = (session: Session, pool: PoolAt, options: HandoverOptions) => Promise<void>;

/** `drover takeover`: moves the VMs of a KubeVirt pool to one of drover's. */
export const takeoverCommand = (): Command =>
  moveCommand('takeover', KubeVirtPoolKind, async () => (await import('../../membership/takeover.ts')).takeOver)
    .description(
      'move the VMs of a KubeVirt pool to a drover pool, without a restart; run it again to continue where it stopped',
    )
    .addHelpText(
      'after',
      examples(
        ['What would happen to each VM', 'drover takeover vmpool web --dry-run'],
        ['Move them', 'drover takeover vmpool web'],
      ),
    );

/** `drover release`: moves them back. */
export const releaseCommand = (): Command =>
  moveCommand('release', Pools, async () => (await import('../../membership/release.ts')).release)
    .description(
      'move the VMs of a pool to a KubeVirt pool, without a restart; also reverts a takeover that has not ended',
    )
    .addHelpText(
      'after',
      examples(
        ['What KubeVirt cannot express', 'drover release pool web --dry-run'],
        ['Move them', 'drover release pool web'],
      ),
    );

/** Takes one pool of this kind. The move is loaded when the command runs: other commands start sooner. */
const moveCommand = (name: string, kind: Kind, load: () => Promise<Move>): Command =>
  new Command(name)
    .argument('<kind>', `${kind.words[0]} NAME, or ${kind.words[0]}/NAME`)
    .argument('[names...]')
    .addOption(timeoutOption())
    .addOption(dryRunOption())
    .action((word: string, words: string[], options: Parameters<Move>[2], command: Command) =>
      inSession(command, async (session) => {
        const { names } = namedTargetsOf([word, ...words], [kind]);
        if (names.length > 1) throw new UsageError(`${names.join(' ')}: one pool at a time`);
        const move = await load();
        await move(session, { namespace: await session.namespace(), name: names[0]! }, options);
      }),
    );
