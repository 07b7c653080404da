import { Command } from 'commander';
import { VirtualMachinePools } from '../../../api/resources.ts';
import { UsageError } from '../../cli/failure.ts';
import { ofKnownKind } from '../../cli/known-kind.ts';
import { dryRunOption, dryRunRemark, examples } from '../../cli/options.ts';
import type { DryRun } from '../../cli/parse-values.ts';
import { note, print } from '../../cli/print.ts';
import { adopt } from '../../disks/adopt.ts';
import { keptClaims } from '../../disks/kept.ts';
import { disksToPrune } from '../../disks/prune.ts';
import { inSession, type Session } from '../../session/session.ts';

interface AdoptOptions {
  pool?: string;
  dryRun: DryRun;
}

export const adoptDisksCommand = (): Command =>
  new Command('adopt')
    .description('give a pool the disks that an earlier pool of its name has kept')
    .argument('[names...]', 'of claims, as `drover get disks` shows them (default: all that it has kept)')
    .option('--pool <name>', 'the pool')
    .addOption(dryRunOption())
    .addHelpText('after', examples(['After a pool was deleted and recreated', 'drover disks adopt --pool web']))
    .action((names: string[], options: AdoptOptions, command: Command) =>
      inSession(command, (session) => run(session, names, options)),
    );

async function run(session: Session, names: string[], { pool, dryRun }: AdoptOptions): Promise<void> {
  if (pool === undefined) throw new UsageError('for which pool? Give --pool');
  const [kube, namespace] = [await session.kube(), await session.namespace()];
  const { metadata } = await ofKnownKind(VirtualMachinePools, kube.get(VirtualMachinePools, { namespace, name: pool }));
  const found = disksToPrune(await keptClaims(kube, namespace), { names, pool, orphaned: true }, Date.now());
  if (found.length === 0) return note(`No earlier pool ${pool} has left kept disks in ${namespace} namespace.`);
  for (const one of found) {
    const { name } = one.claim.metadata;
    const why = dryRun === 'client' ? null : await adopt(kube, one, metadata.uid, dryRun === 'server');
    if (why === null) print(`persistentvolumeclaim/${name} is kept for pool ${pool}${dryRunRemark(dryRun)}`);
    else note(`persistentvolumeclaim/${name} left: ${why}`);
  }
}
