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

/** A pool that is being deleted. */
export interface GoingPool extends PoolKey {
  uid: string;
}

interface Deleted {
  going: GoingPool[];
  /** Pools that the server refused to delete, or does not have. */
  refused: KubeError[];
}

/** Deletes pools one after another, even if some are refused. Throws if the server can't be reached. */
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

/** Deletes a pool and returns its UID. */
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

/** Notes that a deleted pool leaves its kept disks behind. */
function noteKept(name: string, { status }: Pool): void {
  const { keptDisks = 0 } = status ?? {};
  if (keptDisks === 0) return;
  const them = keptDisks === 1 ? '1 kept disk stays' : `${keptDisks} kept disks stay`;
  const commands = `\`drover get disks --pool ${name}\` lists them, \`drover disks prune --pool ${name}\` deletes them`;
  note(`pool ${name}: ${them}, and so do those of VMs that are just leaving: ${commands}`);
}
