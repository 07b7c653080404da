import { Command, Option } from 'commander';
import type { DeleteOptions as KubeDeleteOptions } from '../../kubernetes/client.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import type { Pool } from '../fleet.ts';
import { ofKnownKind } from '../known-kind.ts';
import { dryRunOption, dryRunRemark, examples } from '../options.ts';
import { note, print } from '../output.ts';
import { inSession, type Session } from '../session.ts';
import { namedTargetsOf, Pools } from '../targets.ts';
import { duration, yesOrNo, type DryRun } from '../values.ts';

interface DeleteOptions {
  cascade: 'background' | 'foreground' | 'orphan';
  wait: boolean;
  timeout?: number;
  ignoreNotFound?: boolean;
  dryRun: DryRun;
}

const POLICIES = { background: 'Background', foreground: 'Foreground', orphan: 'Orphan' } as const;

export const deleteCommand = (): Command =>
  new Command('delete')
    .description('delete pools; drover takes their VMs down first')
    .argument('<kind>', 'pool, or pool/NAME')
    .argument('[names...]')
    .addOption(
      new Option('--cascade <how>', 'what becomes of the VMs: "orphan" leaves them running')
        .choices(['background', 'foreground', 'orphan'])
        .default('background'),
    )
    .addOption(new Option('--wait [boolean]', 'come back when the pool and its VMs are gone').argParser(yesOrNo).default(true))
    .option('--timeout <duration>', 'how long to wait, such as 90s or 5m (default: without end)', duration)
    .option('--ignore-not-found', 'a pool that is not there is fine')
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['A pool and its VMs', 'drover delete pool web'],
        ['The pool alone; its VMs go on', 'drover delete pool web --cascade=orphan'],
        ['Ask for it and come back at once', 'drover delete pool web --wait=false'],
      ),
    )
    .action((word: string, words: string[], options: DeleteOptions, command: Command) =>
      inSession(command, async (session) => {
        const { names } = namedTargetsOf([word, ...words], [Pools]);
        const uids = new Map<string, string>();
        for (const name of names) {
          const uid = await remove(session, name, options);
          if (uid !== undefined) uids.set(name, uid);
        }
        if (!options.wait || options.dryRun !== 'none') return;
        const { untilGone } = await import('../until-gone.ts');
        await untilGone(await session.kube(), await session.namespace(), uids, options.timeout);
      }),
    );

/** The UID of the pool that is going; `undefined` where there is none. */
async function remove(
  session: Session,
  name: string,
  { cascade, dryRun, ignoreNotFound }: DeleteOptions,
): Promise<string | undefined> {
  const kube = await session.kube();
  const key = { namespace: await session.namespace(), name };
  try {
    const pool = await ofKnownKind(Pools.resource, kube.get<Pool>(Pools.resource, key));
    const { metadata } = pool;
    const policy: KubeDeleteOptions = { uid: metadata.uid, propagationPolicy: POLICIES[cascade], dryRun: dryRun === 'server' };
    if (dryRun !== 'client') await kube.delete(Pools.resource, key, policy);
    print(`virtualmachinepool.drover.dev "${name}" deleted${dryRunRemark(dryRun)}`);
    if (cascade !== 'orphan') noteKept(name, pool);
    return metadata.uid;
  } catch (error) {
    if (!isNotFound(error) || ignoreNotFound !== true) throw error;
    note(`pool ${name} is not there`);
    return undefined;
  }
}

/** What is deleted does not take along what was kept. */
function noteKept(name: string, { status }: Pool): void {
  const { keptDisks = 0 } = status ?? {};
  if (keptDisks === 0) return;
  const them = keptDisks === 1 ? '1 kept disk stays' : `${keptDisks} kept disks stay`;
  note(`pool ${name}: ${them}, and so do those of VMs that are just leaving: \`drover get disks --pool ${name}\` lists them, \`drover disks prune --pool ${name}\` deletes them`);
}
