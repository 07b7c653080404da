import { controllerOf, type Stored } from '../../api/objects.ts';
import { wantedReplicas } from '../../api/rules/wanted-replicas.ts';
import { vmiView } from '../../decisions/from-object/vmi.ts';
import { whyNotDetached, type Vm } from '../../decisions/membership/moves.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { roleOf } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure } from '../cli/failure.ts';
import { Vms } from '../cli/kinds.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { printNote, print, dryRunSuffix, labelOf } from '../cli/print.ts';
import { vmNamesOf } from '../cli/targets.ts';
import type { Work } from '../session/session.ts';
import { namedVms, readVmis, refuseVms } from './controlled-vms.ts';
import { requestMembers, checkCount, poolForRequest, outcomeOf, type WaitOptions } from './request-members.ts';

interface DetachOptions extends WaitOptions {
  /** Has the pool want so many VMs less, so that none is made in their places. */
  decrement?: boolean;
  /** For `drover history`. */
  reason?: string;
  dryRun: DryRun;
}

/** A pool, and which of its VMs leave. */
interface Leaving {
  pool: Stored<Pool>;
  vms: Vm[];
}

/** Has pools let go of VMs, which run on. With `decrement`, a pool wants so many less, and makes no others. */
export const detachVms: Work<DetachOptions> = async (session, options, ...args) => {
  const [names, namespace] = [vmNamesOf(args), await session.namespace()];
  const { decrement = false, dryRun } = options;
  const kube = await session.kube();
  const leaving = await leavingOf(kube, namespace, names, decrement);
  for (const { pool, vms } of leaving) {
    checkCount('detach', vms);
    if (decrement) checkNumber(pool, vms);
  }
  for (const { pool, vms } of leaving) {
    const { name } = pool.metadata;
    for (const vm of await pausedAmong(kube, namespace, vms))
      printNote(`vm ${vm} was a standby VM, and is paused: \`virtctl unpause vm ${vm}\` resumes it`);
    await requestMembers(session, pool, { action: 'detach', ...(decrement ? { decrement } : {}) }, vms, options);
    if (dryRun === 'none') continue;
    for (const { metadata } of vms)
      print(`${labelOf(Vms.resource, metadata.name)} ${outcomeOf('detach', name)}${dryRunSuffix(dryRun)}`);
  }
};

/** Refuses what would leave a change half done: the pool can't want less than none. */
function checkNumber(pool: Stored<Pool>, { length }: readonly Vm[]): void {
  const replicas = wantedReplicas(pool);
  if (replicas >= length) return;
  const { name } = pool.metadata;
  throw new Failure(`pool ${name} wants ${replicas} VMs, and can't want ${length} less: leave --decrement out`);
}

/** Returns the names of standby VMs that are paused: they stay so. */
async function pausedAmong(kube: KubeClient, namespace: string, vms: readonly Vm[]): Promise<string[]> {
  const standby = vms.filter(({ metadata }) => roleOf(metadata.labels) === 'Standby');
  if (standby.length === 0) return [];
  const read = await readVmis(kube, namespace, standby);
  return read.flatMap(({ vm, vmi }) => (vmi !== undefined && vmiView(vmi).pause !== null ? [vm.metadata.name] : []));
}

/** Returns the VMs by their pools. Throws a `Failure` for each VM that can't be detached, before any is. */
async function leavingOf(
  kube: KubeClient,
  namespace: string,
  names: readonly string[],
  isCounted: boolean,
): Promise<Leaving[]> {
  const vms = await namedVms(kube, namespace, names);
  refuseVms(vms, (vm) => whyNotDetached(vm, { isCounted }));
  const pools = Map.groupBy(vms, (vm) => controllerOf(vm)!.name);
  return Promise.all(
    [...pools].map(async ([name, own]) => ({ pool: await poolForRequest(kube, { namespace, name }), vms: own })),
  );
}
