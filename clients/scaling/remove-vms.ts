import { REMOVE_VMS_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { identityOf, isControlledBy } from '../../api/owner-references.ts';
import { VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { wantedReplicas } from '../../api/rules/wanted-replicas.ts';
import { MAX_NAMED, namedRemovals, namesText } from '../../decisions/views/annotations/named-vms.ts';
import { endOfProtection, isProtected } from '../../decisions/views/annotations/protection.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { roleOf } from '../../decisions/views/vm.ts';
import type { KubeClient, ObjectKey } from '../../kubernetes/client.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { Failure, ifThere } from '../cli/failure.ts';
import { countOf, Pools } from '../cli/kinds.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { isLeaving, whyExtra } from '../pool/leaving.ts';

/** Field manager of `drover scale`. */
export const SCALE_MANAGER = 'drover-scale';

/** How long to wait before another try, in milliseconds: a worker may just have written the status. */
export const PAUSE_MS = 100;

interface RemovalOptions {
  /** Names of the VMs. */
  remove: readonly string[];
  /** Remove them only if this is the number in the spec now. */
  currentReplicas?: number;
  dryRun: DryRun;
}

/** Which VMs are to leave a pool, and how. */
interface Naming extends Omit<RemovalOptions, 'remove'> {
  names: readonly string[];
  /** Whether they are kept, and run on without the pool, instead of being deleted. */
  keep: boolean;
  /** Whether the pool is to want as many VMs less. */
  isCounted: boolean;
}

/** Asks a pool to delete exactly these VMs, and takes them off its number of VMs, as `nameVms` does. */
export const removeVms = (kube: KubeClient, key: ObjectKey, { remove, ...how }: RemovalOptions): Promise<number> =>
  nameVms(kube, key, { ...how, names: remove, keep: false, isCounted: true });

/**
 * Asks a pool to let exactly these VMs leave, and takes them off its number of VMs, in one write of the version of the
 * pool that was read: no scale-in can come between. Returns the number that the pool wants then. Throws `Failure` and
 * changes nothing if a VM may not leave. VMs that were named before, to be kept, are not counted again.
 */
export function nameVms(
  kube: KubeClient,
  key: ObjectKey,
  { names: given, keep, isCounted, currentReplicas, dryRun }: Naming,
): Promise<number> {
  const write = async (): Promise<number> => {
    const pool = await kube.get<Pool>(VirtualMachinePools, key);
    const { namespace, resourceVersion } = pool.metadata;
    const wanted = wantedReplicas(pool);
    if (currentReplicas !== undefined && wanted !== currentReplicas)
      throw new Failure(`pool ${key.name} wants ${countOf(Pools, wanted)}, not ${currentReplicas}: left as it is`);
    checkPool(pool);
    const toRemove = new Map(namedRemovals(pool.metadata.annotations).vms);
    const names = [...new Set(given)].filter((name) => !keep || toRemove.get(name)?.keep !== true);
    const replicas = isCounted ? wanted - names.length : wanted;
    const vms = await Promise.all(names.map((name) => ifThere(kube.get(VirtualMachines, { namespace, name }))));
    const faults = names.flatMap((name, index) => whyNot(pool, name, vms[index], { keep, isCounted }) ?? []);
    if (faults.length > 0)
      throw new Failure(`no VM is ${keep ? 'detached' : 'removed'} from pool ${key.name}: ${faults.join('; ')}`);
    if (replicas < 0)
      throw new Failure(`pool ${key.name} wants ${countOf(Pools, wanted)}: ${names.length} can't be removed`);
    for (const vm of vms) if (vm !== undefined) toRemove.set(vm.metadata.name, { uid: vm.metadata.uid, keep });
    if (toRemove.size > MAX_NAMED)
      throw new Failure(
        `pool ${key.name} can remove ${MAX_NAMED} VMs by name at once, and would have ${toRemove.size} to remove`,
      );
    if (dryRun === 'client') return replicas;
    const annotations = { [REMOVE_VMS_ANNOTATION]: namesText(toRemove) };
    const patch = { metadata: { resourceVersion, annotations }, ...(isCounted && { spec: { replicas } }) };
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

function whyNot(
  pool: Stored<Pool>,
  name: string,
  vm: Stored | undefined,
  { keep, isCounted }: Pick<Naming, 'keep' | 'isCounted'>,
): string | undefined {
  if (vm === undefined) return `there is no vm ${name}`;
  const owner = controllerOf(vm);
  if (!isControlledBy(vm, VirtualMachinePools, identityOf(pool)))
    return `vm ${name} is not one of its VMs${owner === undefined ? '' : `, but of ${owner.kind} ${owner.name}`}`;
  if (isLeaving(pool, vm)) return `vm ${name} is leaving already`;
  const extra = whyExtra(pool.metadata.name, vm);
  if (extra !== undefined) return extra;
  if (isCounted && roleOf(vm.metadata.labels) !== null) {
    const instead = keep ? 'leave --decrement out' : `\`kubectl delete vm ${name}\` removes it`;
    return `vm ${name} is not one of its replicas: ${instead}, and spec.standby.replicas says how many such VMs there are`;
  }
  return !keep && isProtected(vm.metadata, Date.now())
    ? `vm ${name} is protected from scale-in, run ${endOfProtection(name, vm.metadata)} first`
    : undefined;
}
