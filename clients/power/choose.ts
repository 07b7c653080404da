import { VirtualMachines } from '../../api/resources.ts';
import { vmView } from '../../decisions/from-object/vm.ts';
import { vmiView } from '../../decisions/from-object/vmi.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { chooseVms } from '../../decisions/operations/choose.ts';
import { restartReasons } from '../../decisions/operations/restart-required.ts';
import type { PowerAction } from '../../decisions/power/action.ts';
import { withoutEnded } from '../../decisions/views/annotations/protection.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import { UsageError } from '../cli/failure.ts';
import { OWNERS } from '../cli/kinds.ts';
import { ownerOf, vmNamesOf, type NamedOwner, type OwnerOptions } from '../cli/targets.ts';
import { selectionOf } from '../operations/make.ts';
import { readNamed, readVms, scopeOf } from '../operations/read-vms.ts';
import { kubevirtRules } from '../rollout/disruption.ts';
import type { Session } from '../session/session.ts';

/** Kinds whose members are VMs. */
const VM_OWNERS = OWNERS.filter(({ members }) => members.resource === VirtualMachines);

export interface Choice extends OwnerOptions {
  /** Only VMs that wait for a restart. */
  pending?: boolean;
  /** Only VMs that run in a pod of an earlier KubeVirt. */
  outdated?: boolean;
  allNamespaces?: boolean;
  selector?: string | undefined;
}

export interface ChosenVms {
  /** `namespace/name`, and why the VM waits for a restart; null if it was not chosen for that. */
  vms: { vm: string; message: string | null }[];
  /** The names that were given; empty if VMs were chosen otherwise. */
  names: string[];
  /** The owner that was given. */
  owner: NamedOwner | undefined;
  /** Named VMs to which nothing is to be done, since they run already, or don't run. */
  idle: string[];
  /** VMs that would have been chosen, but are not replicas of their pool: their pool starts and stops them itself. */
  excluded: string[];
}

/**
 * Returns the VMs that a worker would choose now. Throws `UsageError` for arguments that don't go together, and a
 * `KubeError` (404) for a missing VM or owner.
 */
export async function choose(
  session: Session,
  action: PowerAction,
  args: string[],
  choice: Choice,
): Promise<ChosenVms> {
  const owner = checkedOwner(action, args, choice);
  const names = args.length === 0 ? [] : vmNamesOf(args);
  const scope = await scopeOf(session, choice);
  const kube = await session.kube();
  const read = await (args.length === 0 ? readVms(kube, scope) : readNamed(kube, await session.namespace(), names));
  const all = read.map(({ vm, vmi }) => ({
    vm: replicaOrNot(withoutEnded(vmView(vm), Date.now())),
    vmi: vmi && vmiView(vmi),
  }));
  const vmis = new Map(all.map(({ vm, vmi }) => [vm.uid, vmi]));
  const { plugs } = await kubevirtRules(kube);
  const input = {
    operation: { metadata: NEXT, spec: { action, vms: selectionOf({ ...choice, names, owner }) } },
    scope: { includes: () => true, owners: new Set(await uidsOf(session, owner)) },
    vmiOf: ({ uid }: VmView) => vmis.get(uid),
    plugs,
  };
  const amongThese = (vms: VmView[]): ((vm: VmView) => boolean) => {
    const chosen = chooseVms({ ...input, vms });
    return ({ namespace, name }) => chosen[namespace]?.[name] !== undefined;
  };
  const isChosen = amongThese(all.map(({ vm }) => vm));
  const isMeant = amongThese(all.map(({ vm }) => ({ ...vm, role: null })));
  const chosen = all.filter(({ vm }) => isChosen(vm));
  return {
    vms: chosen.map(({ vm, vmi }) => ({
      vm: `${vm.namespace}/${vm.name}`,
      message: choice.pending === true && vmi !== undefined ? restartReasons(vm, vmi, plugs).join('; ') : null,
    })),
    names: args.length === 0 ? [] : chosen.map(({ vm }) => vm.name),
    owner,
    idle: args.length === 0 ? [] : all.flatMap(({ vm }) => (isChosen(vm) ? [] : [vm.name])),
    excluded: all.flatMap(({ vm }) => (isMeant(vm) && !isChosen(vm) ? [vm.name] : [])),
  };
}

/** Metadata of an operation that is yet to be made: no VM is younger. */
const NEXT = { name: '', uid: '', resourceVersion: '', creationTimestamp: '9999-12-31T23:59:59Z' };

/** Workers know a VM's role by the record of its pool, and its label follows that. */
const replicaOrNot = (vm: VmView): VmView => ({ ...vm, role: vm.owner === null ? null : vm.roleLabel });

async function uidsOf(session: Session, owner: NamedOwner | undefined): Promise<string[]> {
  if (owner === undefined) return [];
  const key = { namespace: await session.namespace(), name: owner.name };
  return [(await (await session.kube()).get(owner.kind.resource, key)).metadata.uid];
}

/** Returns the owner that is given. Throws `UsageError` for arguments that don't go together, or choose no VMs. */
export function checkedOwner(action: PowerAction, names: string[], choice: Choice): NamedOwner | undefined {
  const { pending, outdated, allNamespaces, selector, pool, owner } = choice;
  const given = Object.entries({
    '--pending': pending,
    '--outdated': outdated,
    '--pool': pool,
    '--owner': owner,
    '-l': selector,
  });
  const [flag] = given.flatMap(([flag, value]) => (value === undefined || value === false ? [] : [flag]));
  const other = flag ?? (allNamespaces === true ? '-A' : undefined);
  if (names.length > 0 && other !== undefined) throw new UsageError(`give names or ${other}, not both`);
  if (names.length === 0 && flag === undefined) {
    throw new UsageError(`specify VMs by name, --pool, --owner or -l${OR_ALL[action] ?? ''}`);
  }
  return ownerOf({ pool, owner, allNamespaces }, VM_OWNERS);
}

const OR_ALL: Partial<Record<PowerAction, string>> = {
  Restart: ', or --pending for all that wait for a restart',
  Migrate: ', or --outdated for all that run in a pod of an earlier KubeVirt',
};

/** Says that VMs are left out that are not replicas of their pool, which starts and stops them itself. */
export function formatExcluded(excluded: readonly string[], verb: string): string {
  const [what, them] = excluded.length === 1 ? ['a standby or extra VM', 'it'] : ['standby or extra VMs', 'them'];
  return `left out: ${formatNames(excluded)}: ${what} of a pool; to ${verb} ${them} all the same, give names`;
}
