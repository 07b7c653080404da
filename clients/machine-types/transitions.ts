import { globMatcher } from '../../decisions/lib/glob.ts';
import { withinNamespaces } from '../../decisions/machine-types/scope.ts';
import { transitionOf } from '../../decisions/operations/transition.ts';
import type { TransitionRecord } from '../../decisions/views/annotations/transition-record.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreForbidden } from '../../kubernetes/errors.ts';
import { Failure, UsageError } from '../cli/failure.ts';
import { listOperations, findOperation, noRecordOf } from '../operations/find-operation.ts';
import { isOver, nameOf } from '../operations/print-operations.ts';
import { readFleet } from './read.ts';

const ACTION = 'MachineType';

/** An operation that has changed machine types. */
export interface FoundTransition {
  uid: string;
  name: string;
  /** What an undo calls it: its name, unless others had it, too. */
  undoneAs: string;
  /** Undefined if it is deleted: VMs still tell what it has changed. */
  operation: StoredOperation | undefined;
}

/**
 * Returns the operation of this name or UID; without, the running one or, with `orNewest`, the newest. One that is
 * deleted is known by what it has left on VMs. Throws `Failure` if there is none.
 */
export async function findTransition(
  kube: KubeClient,
  namespace: string | undefined,
  arg: string | undefined,
): Promise<FoundTransition> {
  if (arg === '') throw new UsageError('which operation? "" is not the name of one');
  const where = arg?.includes('/') === true ? undefined : namespace;
  const all = arg === undefined ? [] : await listOperations(kube, where, ACTION);
  const [found, ...others] = all.filter((one) => arg === one.metadata.uid || isNamed(one, arg!));
  const operation =
    arg === undefined || others.length > 0
      ? await findOperation(kube, namespace, arg, { orNewest: true, action: ACTION })
      : found;
  if (operation !== undefined) {
    const { name, uid } = operation.metadata;
    return { uid, name: nameOf(operation), undoneAs: others.length > 0 || arg === uid ? uid : name, operation };
  }
  const records = (await recordsOf(kube, namespace)).filter(({ id, by }) => id === arg || by === arg);
  const [uid, ...more] = [...new Set(records.map(({ id }) => id))];
  if (more.length > 0) throw new Failure(`several operations had that name, say which: ${[uid, ...more].join(', ')}`);
  if (uid !== undefined) return { uid, name: arg!, undoneAs: arg!, operation: undefined };
  throw noRecordOf(namespace === undefined ? '' : ` in namespace ${namespace}`, arg!);
}

const isNamed = (operation: StoredOperation, arg: string): boolean =>
  operation.metadata.name === arg || nameOf(operation) === arg;

async function recordsOf(kube: KubeClient, namespace: string | undefined): Promise<TransitionRecord[]> {
  const { vms } = await readFleet(kube, namespace === undefined ? null : [namespace]);
  return vms.map(({ transition }) => transition).filter((record) => record !== null);
}

/** Other operations that continue, and so keep this one away from VMs with their marks. */
export interface OthersRunning {
  operations: readonly StoredOperation[];
  /** As users name them, by their UIDs. */
  names: ReadonlyMap<string, string>;
  /** Why it is unknown which of them continue; null if it is known. */
  unknown: string | null;
}

/** Returns the changes of machine types that continue in these namespaces, or in all (null). */
export async function othersRunning(kube: KubeClient, namespaces: readonly string[] | null): Promise<OthersRunning> {
  const [namespace] = namespaces?.length === 1 ? namespaces : [];
  const listed = await ignoreForbidden(listOperations(kube, namespace, ACTION));
  const operations = (listed ?? []).filter((one) => !isOver(one));
  const names = new Map(operations.map((one) => [one.metadata.uid, nameOf(one)]));
  const unknown = 'whether another operation is changing some of these VMs is not known: you may not list operations';
  return { operations, names, unknown: listed === undefined ? unknown : null };
}

/** Throws `Failure` if the operation continues. */
export function checkOver({ operation, name }: FoundTransition): void {
  if (operation !== undefined && !isOver(operation))
    throw new Failure(`${name} is still running, and would change again what is undone: ${howToEnd(operation)}`);
}

const howToEnd = ({ metadata: { namespace, name } }: StoredOperation): string =>
  `\`drover operations abort ${namespace === undefined ? `cvmop/${name}` : `${name} -n ${namespace}`}\` ends it`;

/** VMs of a namespace that are to get a type. */
export interface Given {
  namespace: string;
  type: string | null;
}

/**
 * Throws `Failure` if another operation that continues would change VMs again to which an undo gives back these types:
 * the undo would be undone at once.
 */
export function checkNotChangedAgain(operations: readonly StoredOperation[], given: readonly Given[]): void {
  const again = changedAgainBy(operations, given);
  if (again === null) return;
  const { by, type } = again;
  throw new Failure(
    `${nameOf(by)} is still running, and would change ${type} again, which ${by.spec.machineType?.from} matches: ${howToEnd(by)}`,
  );
}

/** The first of these operations that would change one of the types; null if none would. */
export function changedAgainBy<T extends Pick<StoredOperation, 'metadata' | 'spec'>>(
  operations: readonly T[],
  given: readonly Given[],
): { by: T; type: string } | null {
  for (const by of operations) {
    const { glob, namespaces, undoes } = transitionOf(by).scope;
    if (undoes !== null) continue;
    const [isOld, isWithin] = [globMatcher(glob), withinNamespaces(namespaces)];
    const hit = given.find(({ namespace, type }) => type !== null && isWithin(namespace) && isOld(type));
    if (hit !== undefined) return { by, type: hit.type! };
  }
  return null;
}
