import type { ChosenByNamespace } from '../../activities/power/chosen-uids.ts';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { identityOf, isControlledBy } from '../../api/owner-references.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { runsByItself } from '../../decisions/health/availability.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import type { PowerAction } from '../../decisions/power/action.ts';
import { bytesOfNames, MAX_BYTES } from '../../decisions/power/payload-bytes.ts';
import { isAboutVmi } from '../../decisions/power/target.ts';
import type { VmWithVmi } from '../../decisions/views/from-object/vm-with-vmi.ts';
import type { VirtualMachine } from '../../decisions/views/from-object/vm.ts';
import { OUTDATED_LABEL } from '../../decisions/views/from-object/vmi.ts';
import { roleOf } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure, UsageError } from '../cli/failure.ts';
import { OWNERS } from '../cli/kinds.ts';
import { ownerOf, vmNamesOf, type NamedOwner, type OwnerOptions } from '../cli/targets.ts';
import { kubevirtRules } from '../rollout/disruption.ts';
import type { Session } from '../session/session.ts';
import { pendingAmong } from './pending.ts';
import { readNamed, readVms, scopeOf, type VmScope } from './read-vms.ts';

/** Kinds whose members are VMs. */
const VM_OWNERS = OWNERS.filter(({ members }) => members.resource === VirtualMachines);

/** Limited because names and UIDs of all VMs go into one workflow's input. */
const MAX_VMS = 10_000;

export interface Choice extends OwnerOptions {
  /** Only VMs that wait for a restart. */
  pending?: boolean;
  /** Only VMs that run in a pod of an earlier KubeVirt. */
  outdated?: boolean;
  allNamespaces?: boolean;
  selector?: string | undefined;
}

/** The VMs of a run. */
export interface ChosenVms {
  /** UIDs of the VMIs to restart or to migrate, or of the VMs to start or stop. */
  targets: ChosenByNamespace;
  /** `namespace/name`, and why the VM waits for a restart; null if it was not chosen for that. */
  vms: { vm: string; why: string | null }[];
  /** The names that were given; empty if VMs were chosen otherwise. */
  names: string[];
  /** The owner that was given. */
  owner: NamedOwner | undefined;
  /** Named VMs to which nothing is to be done, since they run already, or don't run. */
  idle: string[];
  /** VMs that would have been chosen, but are not replicas of their pool: their pool starts and stops them itself. */
  apart: string[];
}

/** Throws `UsageError` for arguments that don't go together, and a `KubeError` (404) for a missing VM or owner. */
export async function choose(
  session: Session,
  action: PowerAction,
  names: string[],
  choice: Choice,
): Promise<ChosenVms> {
  const owner = checkedOwner(action, names, choice);
  const chosen = await (names.length === 0
    ? chooseAmong(session, action, { ...choice, of: owner })
    : chooseNamed(session, action, names));
  ensureNotTooMany(chosen);
  return chosen;
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
    throw new UsageError(`which VMs? Give their names, --pool, --owner or -l${OR_ALL[action] ?? ''}`);
  }
  return ownerOf({ pool, owner, allNamespaces }, VM_OWNERS);
}

const OR_ALL: Partial<Record<PowerAction, string>> = {
  Restart: ', or --pending for all that wait for a restart',
  Migrate: ', or --outdated for all that run in a pod of an earlier KubeVirt',
};

/** Throws `Failure` if there are too many VMs for one run, or if their names are too long in all. */
export function ensureNotTooMany({ vms: { length }, targets }: Pick<ChosenVms, 'vms' | 'targets'>): void {
  const choose = 'choose by namespace or -l';
  if (length > MAX_VMS)
    throw new Failure(`${length} VMs are more than the ${MAX_VMS} that one run may have: ${choose}`);
  const bytes = bytesOfNames(targets);
  if (bytes <= MAX_BYTES) return;
  const fewer = Math.floor((length * MAX_BYTES) / bytes / 100) * 100;
  throw new Failure(`${length} VMs with names so long are more than the ${fewer} that one run may have: ${choose}`);
}

async function chooseAmong(
  session: Session,
  action: PowerAction,
  { of, pending = false, outdated = false, ...choice }: Choice & { of: NamedOwner | undefined },
): Promise<ChosenVms> {
  const scope = await scopeOf(session, choice);
  const kube = await session.kube();
  const isOwn = of === undefined ? () => true : await isOwnOf(kube, scope, of);
  const all = await readVms(kube, scope);
  const own = all.filter(({ vm, vmi }) => isOwn(vm) && (!outdated || (vmi !== undefined && isOutdated(vmi))));
  const waiting = pending ? pendingAmong(own, (await kubevirtRules(kube)).plugs) : [];
  const why = new Map(waiting.map(({ vmi, why }) => [vmi, why]));
  const wanted = pending ? own.filter(({ vmi }) => why.has(vmi?.metadata.uid ?? '')) : own;
  const { apart = [], replicas = [] } = Object.groupBy(wanted, ({ vm }) => (isApart(vm) ? 'apart' : 'replicas'));
  return {
    ...chosenOf(action, replicas, ({ vmi }) => why.get(vmi?.metadata.uid ?? '') ?? null),
    owner: of,
    apart: apart.filter((one) => targetOf(action, one) !== null).map(({ vm }) => vm.metadata.name),
  };
}

/** As KubeVirt labels it. */
const isOutdated = ({ metadata }: Stored): boolean => metadata.labels?.[OUTDATED_LABEL] !== undefined;

/** Reports whether the VM is a standby VM of a pool, or an extra one. */
const isApart = (vm: Stored<VirtualMachine>): boolean =>
  roleOf(vm.metadata.labels) !== null && controllerOf(vm) !== undefined;

/** Says that VMs are left out that are not replicas of their pool, which starts and stops them itself. */
export function formatApart(apart: readonly string[], verb: string): string {
  const [what, them] = apart.length === 1 ? ['a standby or extra VM', 'it'] : ['standby or extra VMs', 'them'];
  return `left out: ${formatNames(apart)}: ${what} of a pool; to ${verb} ${them} all the same, give names`;
}

/** Returns a predicate for the VMs that this owner controls. */
async function isOwnOf(
  kube: KubeClient,
  { namespace }: VmScope,
  { kind: { resource }, name }: NamedOwner,
): Promise<(vm: Stored<VirtualMachine>) => boolean> {
  const owner = identityOf(await kube.get(resource, { namespace, name }));
  return (vm) => isControlledBy(vm, resource, owner);
}

async function chooseNamed(session: Session, action: PowerAction, words: string[]): Promise<ChosenVms> {
  const names = vmNamesOf(words);
  const read = await readNamed(await session.kube(), await session.namespace(), names);
  const idle = read.filter((one) => targetOf(action, one) === null).map(({ vm }) => vm.metadata.name);
  const chosen = chosenOf(action, read, () => null);
  return { ...chosen, idle, names: chosen.vms.map(({ vm }) => vm.slice(vm.indexOf('/') + 1)) };
}

function chosenOf(action: PowerAction, read: VmWithVmi[], whyOf: (one: VmWithVmi) => string | null): ChosenVms {
  const targets: ChosenByNamespace = {};
  const vms: ChosenVms['vms'] = [];
  for (const one of read) {
    const { namespace = '', name } = one.vm.metadata;
    const target = targetOf(action, one);
    if (target === null) continue;
    (targets[namespace] ??= {})[name] = target;
    vms.push({ vm: `${namespace}/${name}`, why: whyOf(one) });
  }
  return { targets, vms, names: [], owner: undefined, idle: [], apart: [] };
}

/** Returns the UID of what is acted on; null if there is nothing to do. */
function targetOf(action: PowerAction, { vm, vmi }: VmWithVmi): string | null {
  if (isAboutVmi(action)) return vmi?.metadata.uid ?? null;
  // A VM whose VMI fails again and again may have none in this moment: it is stopped all the same.
  const isUp = vmi !== undefined || (action === 'Stop' && runsByItself({ spec: vm.spec ?? {} }));
  return isUp === (action === 'Stop') ? vm.metadata.uid : null;
}
