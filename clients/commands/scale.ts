import { Command } from 'commander';
import { UsageError } from '../cli/failure.ts';
import { kindArguments, OWNERS, Pools, type OwnerKind } from '../cli/kinds.ts';
import { dryRunOption, dryRunRemark, examples, reasonOption } from '../cli/options.ts';
import { parseCount, type DryRun } from '../cli/parse-values.ts';
import { print } from '../cli/print.ts';
import { labelOf, namedTargetsOf, vmNamesOf, type Targets } from '../cli/targets.ts';
import { recordAct } from '../history/record.ts';
import { scale } from '../scaling/scale.ts';
import { inSession, type Session } from '../session/session.ts';

interface ScaleFlags {
  replicas?: number;
  remove?: string[];
  currentReplicas?: number;
  reason?: string;
  dryRun: DryRun;
}

export const scaleCommand = (): Command =>
  new Command('scale')
    .description('set how many VMs a pool or a replica set has')
    .argument('<kind>', `${kindArguments(OWNERS)}, or KIND/NAME`)
    .argument('[names...]')
    .option('--replicas <count>', 'how many VMs', parseCount)
    .option('--remove <names>', 'of a pool: exactly these VMs, given as NAME,NAME…, and so many fewer', list)
    .option('--current-replicas <count>', 'only if this is the current number', parseCount)
    .addOption(reasonOption('history'))
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['Ten VMs', 'drover scale pool web --replicas 10'],
        ['Five in a replica set', 'drover scale vmrs runners --replicas 5'],
        ['Ten, unless the number is no longer five', 'drover scale pool web --current-replicas 5 --replicas 10'],
        ['Two VMs fewer, and which', 'drover scale pool web --remove web-7,web-9'],
      ),
    )
    .action((word: string, words: string[], options: ScaleFlags, command: Command) =>
      inSession(command, (session) => run(session, namedTargetsOf([word, ...words], OWNERS), options)),
    );

async function run(session: Session, { kind, names }: Targets<OwnerKind>, options: ScaleFlags): Promise<void> {
  const { replicas, remove, dryRun, reason: why } = options;
  if (replicas !== undefined && remove !== undefined)
    throw new UsageError('give --replicas or --remove, not both: --remove lowers the number by as many VMs');
  if (replicas === undefined && remove === undefined)
    throw new UsageError('how many VMs? Give --replicas, or for a pool --remove with names');
  if (remove !== undefined) checkRemoval(kind, names);
  const [kube, namespace] = [await session.kube(), await session.namespace()];
  for (const name of names) {
    const label = labelOf(kind.resource, name);
    if (remove === undefined) {
      const from = await scale(kube, kind, { namespace, name }, { ...options, replicas: replicas! });
      print(`${label} scaled${dryRunRemark(dryRun)}`);
      if (dryRun === 'none')
        await recordAct(session, kind, { namespace, name }, { action: 'scale', from, to: replicas!, why });
    } else {
      const { removeVms } = await import('../scaling/remove-vms.ts');
      const left = await removeVms(kube, { namespace, name }, { ...options, remove });
      print(`${label} scaled to ${left}, without ${remove.join(', ')}${dryRunRemark(dryRun)}`);
      const vms = [...new Set(remove)];
      const act = { action: 'scale', vms, from: left + vms.length, to: left, why } as const;
      if (dryRun === 'none') await recordAct(session, kind, { namespace, name }, act);
    }
  }
}

function checkRemoval(kind: OwnerKind, names: readonly string[]): void {
  if (kind !== Pools) throw new UsageError(`--remove is for pools: a ${kind.noun} chooses by itself what leaves it`);
  if (names.length > 1)
    throw new UsageError(
      `--remove takes VMs of one pool, as NAME,NAME…, and there is more behind: ${names.slice(1).join(' ')}`,
    );
}

/** Parses `web-7,web-9`. */
const list = (text: string): string[] => {
  const names = text.split(',').map((name) => name.trim());
  return vmNamesOf(names.filter((name) => name !== ''));
};
