import type { DeleteOptions as KubeDeleteOptions, KubeClient } from '../../kubernetes/client.ts';
import { isNotFound, KubeError } from '../../kubernetes/errors.ts';
import { ofKnownKind } from '../cli/known-kind.ts';
import { dryRunRemark } from '../cli/options.ts';
import { note, print } from '../cli/output.ts';
import { Pools } from '../cli/targets.ts';
import type { DryRun } from '../cli/values.ts';
import type { Pool } from './objects.ts';

const POLICIES = { background: 'Background', foreground: 'Foreground', orphan: 'Orphan' } as const;

export interface HowToDelete {
  /** What becomes of the VMs. */
  cascade: keyof typeof POLICIES;
  ignoreNotFound?: boolean;
  dryRun: DryRun;
}

export interface PoolKey {
  namespace: string;
  name: string;
}

/** A pool that is going. */
export interface GoingPool extends PoolKey {
  uid: string;
}

interface Deleted {
  going: GoingPool[];
  /** What the server said no to, or does not have. */
  refused: KubeError[];
}

/** Deletes them one after the other, also those behind one that is refused. Throws if the server can't be asked. */
export async function deletePools(kube: KubeClient, keys: PoolKey[], how: HowToDelete): Promise<Deleted> {
  const going: GoingPool[] = [];
  const refused: KubeError[] = [];
  for (const key of keys) {
    try {
      going.push({ ...key, uid: await deletePool(kube, key, how) });
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (isNotFound(error) && how.ignoreNotFound === true) note(`pool ${key.name} is not there`);
      else refused.push(error);
    }
  }
  return { going, refused };
}

/** The UID of the pool. */
async function deletePool(kube: KubeClient, key: PoolKey, { cascade, dryRun }: HowToDelete): Promise<string> {
  const { name } = key;
  const pool = await ofKnownKind(Pools.resource, kube.get<Pool>(Pools.resource, key));
  const { uid } = pool.metadata;
  const policy: KubeDeleteOptions = { uid, propagationPolicy: POLICIES[cascade], dryRun: dryRun === 'server' };
  if (dryRun !== 'client') await kube.delete(Pools.resource, key, policy);
  print(`virtualmachinepool.drover.dev "${name}" deleted${dryRunRemark(dryRun)}`);
  if (cascade !== 'orphan') noteKept(name, pool);
  return uid;
}

/** What is deleted does not take along what was kept. */
function noteKept(name: string, { status }: Pool): void {
  const { keptDisks = 0 } = status ?? {};
  if (keptDisks === 0) return;
  const them = keptDisks === 1 ? '1 kept disk stays' : `${keptDisks} kept disks stay`;
  const commands = `\`drover get disks --pool ${name}\` lists them, \`drover disks prune --pool ${name}\` deletes them`;
  note(`pool ${name}: ${them}, and so do those of VMs that are just leaving: ${commands}`);
}
