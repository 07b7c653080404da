import { REMOVE_VMS_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { controllerOf } from '../../api/objects.ts';
import { stillExternal } from '../../decisions/membership/eviction-strategy.ts';
import type { Vm } from '../../decisions/membership/moves.ts';
import { kindOf } from '../../decisions/views/owner-kind.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure, throwAll } from '../cli/failure.ts';
import { Vms } from '../cli/kinds.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { printNote, print, dryRunSuffix, labelOf } from '../cli/print.ts';
import { vmNamesOf } from '../cli/targets.ts';
import { nameVms } from '../scaling/remove-vms.ts';
import type { Session, Work } from '../session/session.ts';
import { namedVms, readVmis, refuseVms } from './controlled-vms.ts';
import { untilMembersMoved } from './named-members.ts';
import { poolForRequest, type PoolAt, type WaitOptions } from './request-members.ts';

interface DetachOptions extends WaitOptions {
  /** Has the pool want so many VMs less, so that none is made in their places. */
  decrement?: boolean;
  dryRun: DryRun;
}

/** Has pools let go of VMs, which run on. With `decrement`, a pool wants so many less, and makes no others. */
export const detachVms: Work<DetachOptions> = async (session, options, ...args) => {
  const [names, namespace] = [vmNamesOf(args), await session.namespace()];
  const { decrement = false, dryRun, timeout } = options;
  const kube = await session.kube();
  const leaving = await leavingOf(kube, namespace, names);
  const naming = (name: string, vms: readonly Vm[], how: DryRun): Promise<number> =>
    nameVms(
      kube,
      { namespace, name },
      { names: vms.map(({ metadata }) => metadata.name), keep: true, isCounted: decrement, dryRun: how },
    );
  for (const [name, vms] of leaving) {
    await poolForRequest(kube, { namespace, name });
    await naming(name, vms, 'client');
  }
  for (const [name, vms] of leaving) {
    await naming(name, vms, dryRun);
    if (dryRun === 'none') await untilLeft(session, { namespace, name }, vms, timeout);
    else for (const vm of vms) print(`${outcomeOf(vm, name)}${dryRunSuffix(dryRun)}`);
  }
};

const outcomeOf = ({ metadata }: Vm, pool: string): string =>
  `${labelOf(Vms.resource, metadata.name)} detached from pool ${pool}`;

/** Waits until the pool has let go of the VMs. Throws a `Failure` for each that it has not. */
async function untilLeft(session: Session, at: PoolAt, vms: readonly Vm[], timeout: number): Promise<void> {
  const now = await untilMembersMoved(session, at, vms, { annotation: REMOVE_VMS_ANNOTATION, verb: 'detach', timeout });
  const left = now.filter((vm) => vm !== undefined && controllerOf(vm) === undefined) as Vm[];
  for (const vm of left) print(outcomeOf(vm, at.name));
  const note = stillExternal(await readVmis(await session.kube(), at.namespace, left));
  if (note !== null) printNote(note);
  const others = vms.filter(({ metadata }) => !left.some((vm) => vm.metadata.uid === metadata.uid));
  throwAll(others.map(({ metadata }) => new Failure(`vm ${metadata.name} is gone, or has another owner`)));
}

/** Returns the VMs by their pools. Throws a `Failure` for each VM of none. */
async function leavingOf(kube: KubeClient, namespace: string, names: readonly string[]): Promise<Map<string, Vm[]>> {
  const vms = await namedVms(kube, namespace, names);
  refuseVms(vms, (vm) => {
    const owner = controllerOf(vm);
    if (owner === undefined) return 'does not belong to a pool';
    const { kind, name } = owner;
    return kindOf(owner) === 'VirtualMachinePool' ? null : `belongs to ${kind} ${name}, which is not a drover pool`;
  });
  return Map.groupBy(vms, (vm) => controllerOf(vm)!.name);
}
