import { REMOVE_VMS_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { identityOf, isControlledBy } from '../../api/owner-references.ts';
import { VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { wantedReplicas } from '../../api/rules/wanted-replicas.ts';
import { MAX_NAMED, namedRemovals, removalsText } from '../../decisions/scaling/named-removals.ts';
import { endOfProtection, isProtected } from '../../decisions/views/annotations/protection.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { roleOf } from '../../decisions/views/vm.ts';
import type { KubeClient, ObjectKey } from '../../kubernetes/client.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { Failure, ifThere } from '../cli/failure.ts';
import { countOf, Pools } from '../cli/kinds.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { isLeaving, whyExtra } from '../pool/leaving.ts';
import { checkCurrent, PAUSE_MS, SCALE_MANAGER } from './scale.ts';

interface RemovalOptions {
  /** Names of the VMs. */
  remove: readonly string[];
  /** Remove them only if this is the number in the spec now. */
  currentReplicas?: number;
  dryRun: DryRun;
}

/**
 * Asks a pool to remove exactly these VMs, and takes them off its number of VMs, in one write of the version of the
 * pool that was read: no scale-in can come between. Returns the number that the pool wants then. Throws `Failure` and
 * changes nothing if a VM may not be removed.
 */
export function removeVms(
  kube: KubeClient,
  key: ObjectKey,
  { remove, currentReplicas, dryRun }: RemovalOptions,
): Promise<number> {
  const names = [...new Set(remove)];
  const write = async (): Promise<number> => {
    const pool = await kube.get<Pool>(VirtualMachinePools, key);
    const { namespace, resourceVersion } = pool.metadata;
    const wanted = wantedReplicas(pool);
    checkCurrent(Pools, key.name, wanted, currentReplicas);
    const replicas = wanted - names.length;
    checkPool(pool);
    const vms = await Promise.all(names.map((name) => ifThere(kube.get(VirtualMachines, { namespace, name }))));
    const faults = names.flatMap((name, index) => whyNot(pool, name, vms[index]) ?? []);
    if (faults.length > 0) throw new Failure(`no VM is removed from pool ${key.name}: ${faults.join('; ')}`);
    checkNumber(pool, wanted, names.length);
    const named = new Map(namedRemovals(pool.metadata.annotations).vms);
    for (const vm of vms) if (vm !== undefined) named.set(vm.metadata.name, vm.metadata.uid);
    if (named.size > MAX_NAMED)
      throw new Failure(
        `pool ${key.name} can remove ${MAX_NAMED} VMs by name at once, and would have ${named.size} to remove`,
      );
    if (dryRun === 'client') return replicas;
    const annotations = { [REMOVE_VMS_ANNOTATION]: removalsText(named) };
    const patch = { metadata: { resourceVersion, annotations }, spec: { replicas } };
    const options = { dryRun: dryRun === 'server', fieldManager: SCALE_MANAGER };
    await kube.patch(VirtualMachinePools, key, 'merge', patch, options);
    return replicas;
  };
  return retryOnConflict(write, { pauseMs: () => PAUSE_MS });
}

function checkPool({ metadata }: Stored<Pool>): void {
  const { name, deletionTimestamp, annotations } = metadata;
  if (deletionTimestamp !== undefined) throw new Failure(`pool ${name} is being deleted`);
  const { fault } = namedRemovals(annotations);
  if (fault !== null)
    throw new Failure(`the annotation ${REMOVE_VMS_ANNOTATION} of pool ${name} can't be read: ${fault}`);
}

function checkNumber({ metadata: { name } }: Stored<Pool>, wanted: number, count: number): void {
  if (count > wanted) throw new Failure(`pool ${name} wants ${countOf(Pools, wanted)}: ${count} can't be removed`);
}

function whyNot(pool: Stored<Pool>, name: string, vm: Stored | undefined): string | undefined {
  if (vm === undefined) return `there is no vm ${name}`;
  const owner = controllerOf(vm);
  if (!isControlledBy(vm, VirtualMachinePools, identityOf(pool)))
    return `vm ${name} is not one of its VMs${owner === undefined ? '' : `, but of ${owner.kind} ${owner.name}`}`;
  if (isLeaving(pool, vm)) return `vm ${name} is leaving already`;
  const extra = whyExtra(pool.metadata.name, vm);
  if (extra !== undefined) return extra;
  if (roleOf(vm.metadata.labels) !== null)
    return `vm ${name} is not one of its replicas: \`kubectl delete vm ${name}\` removes it, and spec.standby.replicas says how many such VMs there are`;
  return isProtected(vm.metadata, Date.now())
    ? `vm ${name} is protected from scale-in, run ${endOfProtection(name, vm.metadata)} first`
    : undefined;
}
