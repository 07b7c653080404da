import { UsageError } from '../cli/failure.ts';
import { OWNERS, Pools, type OwnerKind } from '../cli/kinds.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { print, dryRunSuffix, labelOf } from '../cli/print.ts';
import { namedTargetsOf } from '../cli/targets.ts';
import { recordAct } from '../history/record.ts';
import type { Work } from '../session/session.ts';
import { removeVms } from './remove-vms.ts';
import { scale } from './scale.ts';

interface ScaleFlags {
  replicas?: number;
  remove?: string[];
  currentReplicas?: number;
  reason?: string;
  dryRun: DryRun;
}

/** Sets the number of members of pools or replica sets, or removes VMs of a pool by name. Throws `UsageError`. */
export const scaleOwners: Work<ScaleFlags> = async (session, options, ...args) => {
  const { kind, names } = namedTargetsOf(args, OWNERS);
  const { replicas, remove, dryRun, reason } = options;
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
      print(`${label} scaled${dryRunSuffix(dryRun)}`);
      if (dryRun === 'none')
        await recordAct(session, kind, { namespace, name }, { action: 'scale', from, to: replicas!, reason });
    } else {
      const count = await removeVms(kube, { namespace, name }, { ...options, remove });
      print(`${label} scaled to ${count}, without ${remove.join(', ')}${dryRunSuffix(dryRun)}`);
      const vms = [...new Set(remove)];
      const act = { action: 'scale', vms, from: count + vms.length, to: count, reason } as const;
      if (dryRun === 'none') await recordAct(session, kind, { namespace, name }, act);
    }
  }
};

function checkRemoval(kind: OwnerKind, names: readonly string[]): void {
  if (kind !== Pools) throw new UsageError(`--remove is for pools: a ${kind.noun} chooses by itself what leaves it`);
  if (names.length > 1)
    throw new UsageError(
      `--remove takes VMs of one pool, as NAME,NAME…, and there is more behind: ${names.slice(1).join(' ')}`,
    );
}
