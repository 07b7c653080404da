import type { ChosenByNamespace } from '../../activities/restarts/chosen-vmis.ts';
import { bytesOfNames, MOST_BYTES } from '../../decisions/restarts/size.ts';
import { Failure, UsageError } from '../cli/failure.ts';
import { Vms } from '../cli/kinds.ts';
import { namedTargetsOf } from '../cli/targets.ts';
import { checkSelector } from '../cli/usable.ts';
import type { Session } from '../session/session.ts';
import { pendingAmong } from './pending.ts';
import { readNamed, readVms, type VmScope } from './running.ts';

/** Limited because names and UIDs of all VMs go into one workflow's input. */
const MOST = 10_000;

export interface Choice {
  /** All VMs that wait for a restart, instead of named ones. */
  pending: boolean;
  allNamespaces: boolean;
  selector?: string | undefined;
}

/** The VMs of a restart. */
export interface ChosenVms {
  vmis: ChosenByNamespace;
  /** `namespace/name`, and why the VM waits for a restart; null if it was named, and so need not wait for one. */
  vms: { vm: string; why: string | null }[];
  /** Named VMs that don't run, so there is nothing to restart. */
  idle: string[];
}

/** Returns the namespaces and labels asked for. Throws `UsageError`. */
export async function scopeOf(
  session: Session,
  { allNamespaces, selector }: Omit<Choice, 'pending'>,
): Promise<VmScope> {
  await checkSelector(selector);
  return { namespace: allNamespaces ? undefined : await session.namespace(), selector };
}

/** Throws `UsageError` for arguments that don't go together, and a `KubeError` (404) for a missing VM. */
export async function choose(session: Session, names: string[], choice: Choice): Promise<ChosenVms> {
  const { pending, allNamespaces, selector } = choice;
  if (pending && names.length > 0) throw new UsageError('give names or --pending, not both');
  if (!pending && names.length === 0)
    throw new UsageError('which VMs? Give their names, or --pending for all that wait for a restart');
  if (!pending && (allNamespaces || selector !== undefined))
    throw new UsageError('-A and -l choose among those that wait for a restart: give --pending');
  const chosen = await (pending ? choosePending(session, choice) : chooseNamed(session, names));
  ensureNotTooMany(chosen);
  return chosen;
}

/** Throws `Failure` if there are too many VMs for one restart, or if their names are too long in all. */
export function ensureNotTooMany({ vms: { length }, vmis }: Pick<ChosenVms, 'vms' | 'vmis'>): void {
  const choose = 'choose by namespace or -l';
  if (length > MOST) throw new Failure(`${length} VMs are more than the ${MOST} that one restart may have: ${choose}`);
  const bytes = bytesOfNames(vmis);
  if (bytes <= MOST_BYTES) return;
  const fewer = Math.floor((length * MOST_BYTES) / bytes / 100) * 100;
  throw new Failure(`${length} VMs with names so long are more than the ${fewer} that one restart may have: ${choose}`);
}

async function choosePending(session: Session, choice: Choice): Promise<ChosenVms> {
  const scope = await scopeOf(session, choice);
  const waiting = pendingAmong(await readVms(await session.kube(), scope));
  const vms = waiting.map(({ namespace, name, why }) => ({ vm: `${namespace}/${name}`, why }));
  return { vmis: vmisOf(waiting), vms, idle: [] };
}

async function chooseNamed(session: Session, words: string[]): Promise<ChosenVms> {
  const { names } = namedTargetsOf(words.some((word) => word.includes('/')) ? words : ['vm', ...words], [Vms]);
  const namespace = await session.namespace();
  const read = await readNamed(await session.kube(), namespace, names);
  const running = read.flatMap(({ vm, vmi }) =>
    vmi === null ? [] : [{ namespace, name: vm.metadata.name, vmi: vmi.metadata.uid }],
  );
  return {
    vmis: vmisOf(running),
    vms: running.map(({ name }) => ({ vm: `${namespace}/${name}`, why: null })),
    idle: read.filter(({ vmi }) => vmi === null).map(({ vm }) => vm.metadata.name),
  };
}

function vmisOf(vms: { namespace: string; name: string; vmi: string }[]): ChosenByNamespace {
  const vmis: ChosenByNamespace = {};
  for (const { namespace, name, vmi } of vms) (vmis[namespace] ??= {})[name] = vmi;
  return vmis;
}
