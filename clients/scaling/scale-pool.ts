import { Pools } from '../cli/kinds.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { print, dryRunSuffix, labelOf } from '../cli/print.ts';
import { oneTargetOf } from '../cli/targets.ts';
import type { Work } from '../session/session.ts';
import { removeVms } from './remove-vms.ts';

interface ScaleFlags {
  remove: string[];
  currentReplicas?: number;
  dryRun: DryRun;
}

/** Removes VMs of a pool by name. */
export const scalePool: Work<ScaleFlags> = async (session, options, ...args) => {
  const { name } = oneTargetOf(args, [Pools]);
  const { remove, dryRun } = options;
  const key = { namespace: await session.namespace(), name };
  const count = await removeVms(await session.kube(), key, options);
  print(`${labelOf(Pools.resource, name)} scaled to ${count}, without ${remove.join(', ')}${dryRunSuffix(dryRun)}`);
};
