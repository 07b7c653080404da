import { PROTECT_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { endOfProtection, isProtected, isUndeletable } from '../../decisions/views/annotations/protection.ts';
import { kindOf } from '../../decisions/views/owner-kind.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { Failure, ifThere } from '../cli/failure.ts';
import { Vms } from '../cli/kinds.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { print, dryRunSuffix, labelOf } from '../cli/print.ts';
import { vmNamesOf } from '../cli/targets.ts';
import { isLeaving, whyExtra } from '../pool/leaving.ts';
import type { Work } from '../session/session.ts';

interface ProtectionOptions {
  namespace: string;
  /** Whether scale-in is to leave the VMs where they are. */
  protect: boolean;
  dryRun: DryRun;
}

/** Returns what a command does: it protects VMs, or takes their protection off. */
export const protects =
  (protect: boolean): Work<{ dryRun: DryRun }> =>
  async (session, { dryRun }, ...args) => {
    const names = vmNamesOf(args);
    const [kube, namespace] = [await session.kube(), await session.namespace()];
    await setProtection(kube, names, { namespace, protect, dryRun }, (vm) =>
      print(`${labelOf(Vms.resource, vm)} ${protect ? '' : 'un'}protected${dryRunSuffix(dryRun)}`),
    );
  };

/**
 * Protects VMs of pools from scale-in, or takes their protection off; `onDone` is called for each. Throws `Failure`
 * before it writes anything if one of them is not a VM that this can be done to.
 */
export async function setProtection(
  kube: KubeClient,
  names: readonly string[],
  options: ProtectionOptions,
  onDone: (name: string) => void,
): Promise<void> {
  const all = [...new Set(names)];
  const found = await Promise.all(all.map((name) => readVm(kube, name, options)));
  const faults = all.flatMap((name, index) => whyNot(name, found[index]!, options) ?? []);
  if (faults.length > 0) throw new Failure(`nothing is changed: ${faults.join('; ')}`);
  for (const name of all) {
    if (options.dryRun !== 'client') await write(kube, name, options);
    onDone(name);
  }
}

interface Found {
  vm: Stored | undefined;
  /** The pool that its owner reference names; undefined for a VM without a pool. */
  pool: Stored | undefined;
}

async function readVm(kube: KubeClient, name: string, { namespace }: ProtectionOptions): Promise<Found> {
  const vm = await ifThere(kube.get(VirtualMachines, { namespace, name }));
  const owner = vm === undefined ? undefined : controllerOf(vm);
  if (owner === undefined || kindOf(owner) !== VirtualMachinePools.kind) return { vm, pool: undefined };
  const pool = await ifThere(kube.get(VirtualMachinePools, { namespace, name: owner.name }));
  return { vm, pool: pool?.metadata.uid === owner.uid ? pool : undefined };
}

function whyNot(name: string, { vm, pool }: Found, { protect }: ProtectionOptions): string | undefined {
  if (vm === undefined) return `there is no vm ${name}`;
  if (pool === undefined) return `vm ${name} is not a pool's`;
  if (!protect)
    return isUndeletable(vm.metadata)
      ? `vm ${name} is protected from any deletion, run ${endOfProtection(name, { labels: vm.metadata.labels })}`
      : undefined;
  return isLeaving(pool, vm)
    ? `vm ${name} is leaving pool ${pool.metadata.name} already`
    : whyExtra(pool.metadata.name, vm);
}

/** Writes to the VM only in the version in which it was seen to be a pool's. */
async function write(kube: KubeClient, name: string, options: ProtectionOptions): Promise<void> {
  const { namespace, protect, dryRun } = options;
  await retryOnConflict(async () => {
    const found = await readVm(kube, name, options);
    const { vm } = found;
    const fault = whyNot(name, found, options);
    if (fault !== undefined || vm === undefined) throw new Failure(`vm ${name} is left as it is: ${fault}`);
    const { uid, resourceVersion, annotations } = vm.metadata;
    // A protection that ends gives way to one that does not.
    const isDone = protect
      ? isProtected({ annotations }, Number.MAX_VALUE)
      : annotations?.[PROTECT_ANNOTATION] === undefined;
    if (isDone) return;
    const change = { [PROTECT_ANNOTATION]: protect ? 'true' : null };
    const patch = { metadata: { uid, resourceVersion, annotations: change } };
    await kube.patch(VirtualMachines, { namespace, name }, 'merge', patch, { dryRun: dryRun === 'server' });
  });
}
