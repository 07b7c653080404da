import { ADOPT_VMS_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { identityOf, isControlledBy } from '../../api/owner-references.ts';
import { VirtualMachines, VirtualMachinePools } from '../../api/resources.ts';
import { wantedReplicas } from '../../api/rules/wanted-replicas.ts';
import { poolView } from '../../decisions/from-object/owner.ts';
import type { VmWithVmi } from '../../decisions/from-object/vm-with-vmi.ts';
import type { VirtualMachine } from '../../decisions/from-object/vm.ts';
import { joining, type Joining } from '../../decisions/membership/joining.ts';
import { whyNotAdopted, type Vm } from '../../decisions/membership/moves.ts';
import { MAX_NAMED, namedAdoptions, namesText } from '../../decisions/views/annotations/named-vms.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { Failure, throwAll, UsageError } from '../cli/failure.ts';
import { Vms } from '../cli/kinds.ts';
import { checkLabelSelector } from '../cli/label-selector.ts';
import { type DryRun, parseFlag } from '../cli/parse-values.ts';
import { printNote, print, dryRunSuffix, labelOf } from '../cli/print.ts';
import { poolAndVms } from '../cli/targets.ts';
import { PAUSE_MS, SCALE_MANAGER } from '../scaling/remove-vms.ts';
import type { Session, Work } from '../session/session.ts';
import { namedVms, readVmis, refuseVms } from './controlled-vms.ts';
import { untilMembersMoved } from './named-members.ts';
import { otherNames, printJoining } from './print-joining.ts';
import { poolForRequest, type WaitOptions, type PoolAt } from './request-members.ts';

export interface AdoptOptions extends WaitOptions {
  /** Leaves the number of VMs that the pool wants as it is. */
  keepReplicas?: boolean;
  dryRun: DryRun;
}

/** Which VMs are to come into the pool: by their names, or all of no owner that a selector matches. */
type Chosen = { names: readonly string[] } | { selector: string };

/** Has the pool that is named first adopt the VMs behind it, or those that a selector matches. Throws `UsageError`. */
export const adoptVms: Work<AdoptOptions & { selector?: string }> = async (
  session,
  { selector, ...options },
  ...args
) => {
  const { pool: name, vms: names } = poolAndVms(args);
  if (selector === undefined && names.length === 0)
    throw new UsageError(`which VMs for pool ${name}? Give their names, or -l SELECTOR`);
  if (selector !== undefined && names.length > 0) throw new UsageError(`${names.join(' ')}: give either names or -l`);
  if (selector !== undefined) parseFlag('-l', selector, checkLabelSelector);
  await adopt(
    session,
    { namespace: await session.namespace(), name },
    selector === undefined ? { names } : { selector },
    options,
  );
};

/** Has a pool adopt VMs without an owner: it wants that many more, and makes and deletes none meanwhile. */
export async function adopt(session: Session, key: PoolAt, chosen: Chosen, options: AdoptOptions): Promise<void> {
  const { keepReplicas = false, dryRun } = options;
  const kube = await session.kube();
  const pool = await poolForRequest(kube, key);
  const vms = await vmsToAdopt(kube, pool, chosen);
  if (vms.length === 0) return printNote(`No VM to adopt in ${key.namespace} namespace.`);
  const compared = (await readVmis(kube, key.namespace, vms)).map((one) => ({
    name: one.vm.metadata.name,
    joining: joiningOf(pool, one),
  }));
  printJoining(compared);
  const note = otherNames(key.name, compared);
  if (note !== undefined) printNote(note);
  if (keepReplicas) printNote(`pool ${key.name} keeps replicas: ${pool.spec.replicas}: surplus VMs will be removed`);
  await nameForAdoption(kube, key, vms, options);
  if (dryRun !== 'none')
    return print(`${vms.length} ${vms.length === 1 ? 'VM' : 'VMs'} would be adopted${dryRunSuffix(dryRun)}`);
  const { timeout } = options;
  const now = await untilMembersMoved(session, key, vms, { annotation: ADOPT_VMS_ANNOTATION, verb: 'adopt', timeout });
  const isOwn = (vm: Vm | undefined): vm is Vm =>
    vm !== undefined && isControlledBy(vm, VirtualMachinePools, identityOf(pool));
  for (const { metadata } of now.filter(isOwn))
    print(`${labelOf(Vms.resource, metadata.name)} adopted by pool ${key.name}`);
  const faults = now.flatMap((vm, index) => {
    if (isOwn(vm)) return [];
    const fault =
      vm === undefined ? 'is gone' : (whyNotAdopted(pool, vm) ?? 'was not adopted: see the Events of the pool');
    return [new Failure(`vm ${vms[index]!.metadata.name} ${fault}`)];
  });
  throwAll(faults);
}

/** Names the VMs to the pool, which wants as many more from the same write on, but for those that it names already. */
export const nameForAdoption = (
  kube: KubeClient,
  key: PoolAt,
  vms: readonly Vm[],
  { keepReplicas, dryRun }: Pick<AdoptOptions, 'keepReplicas' | 'dryRun'>,
): Promise<void> =>
  retryOnConflict(
    async () => {
      const pool = await poolForRequest(kube, key);
      const { annotations, resourceVersion } = pool.metadata;
      const { vms: before, fault } = namedAdoptions(annotations);
      if (fault !== null)
        throw new Failure(`the annotation ${ADOPT_VMS_ANNOTATION} of pool ${key.name} can't be read: ${fault}`);
      const fresh = vms.filter(({ metadata }) => before.get(metadata.name)?.uid !== metadata.uid);
      const toAdopt = new Map(before);
      for (const { metadata } of fresh) toAdopt.set(metadata.name, { uid: metadata.uid, keep: false });
      if (toAdopt.size > MAX_NAMED)
        throw new Failure(
          `pool ${key.name} can adopt ${MAX_NAMED} VMs at once, and would have ${toAdopt.size} to adopt`,
        );
      if (dryRun === 'client' || fresh.length === 0) return;
      const patch = {
        metadata: { resourceVersion, annotations: { [ADOPT_VMS_ANNOTATION]: namesText(toAdopt) } },
        ...(keepReplicas !== true && { spec: { replicas: wantedReplicas(pool) + fresh.length } }),
      };
      const how = { dryRun: dryRun === 'server', fieldManager: SCALE_MANAGER };
      await kube.patch(VirtualMachinePools, key, 'merge', patch, how);
    },
    { pauseMs: () => PAUSE_MS },
  );

const joiningOf = (pool: Stored<Pool>, { vm, vmi }: VmWithVmi): Joining => joining(poolView(pool), vm, vmi);

async function vmsToAdopt(kube: KubeClient, pool: Stored<Pool>, chosen: Chosen): Promise<Vm[]> {
  const { namespace, name } = pool.metadata;
  if ('selector' in chosen) {
    const { items } = await kube.list<VirtualMachine>(VirtualMachines, { namespace, labelSelector: chosen.selector });
    return items.filter((vm) => controllerOf(vm) === undefined && vm.metadata.deletionTimestamp === undefined);
  }
  const vms = await namedVms(kube, namespace!, chosen.names);
  const isOwn = (vm: Vm): boolean => isControlledBy(vm, VirtualMachinePools, identityOf(pool));
  for (const { metadata } of vms.filter(isOwn)) printNote(`vm ${metadata.name} already belongs to pool ${name}`);
  refuseVms(vms, (vm) => (isOwn(vm) ? null : whyNotAdopted(pool, vm)));
  return vms.filter((vm) => controllerOf(vm) === undefined);
}
