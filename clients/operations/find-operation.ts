import { CHANGE_CAUSE_ANNOTATION, REQUESTED_BY_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { OperationAction, OperationSpec } from '../../api/operations/operation.ts';
import { requesterAnnotation } from '../../api/requested-by.ts';
import { ClusterVirtualMachineOperations, VirtualMachineOperations } from '../../api/resources.ts';
import { operationResource } from '../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreForbidden, isNotFound } from '../../kubernetes/errors.ts';
import { Failure, UsageError } from '../cli/failure.ts';
import type { Kind } from '../cli/kinds.ts';
import { plain } from '../cli/print.ts';
import { namedTargetsOf } from '../cli/targets.ts';
import { userOf } from '../session/requester.ts';
import { isOver, nameOf } from './print-operations.ts';

const aliases = (...short: string[]) => [...short, ...short.map((alias) => `${alias}s`)];
/** The kinds of operations, as users name them in addition to kubectl's own names. */
const KINDS: readonly Kind[] = [
  { resource: VirtualMachineOperations, noun: 'operation', aliases: aliases('vmop', 'virtualmachineoperation') },
  {
    resource: ClusterVirtualMachineOperations,
    noun: 'cluster-wide operation',
    aliases: aliases('cvmop', 'clustervirtualmachineoperation'),
  },
];

/**
 * Returns the operations of the namespace, or of all, and cluster-wide operations if the user may see them; only
 * operations with the action, if one is given.
 */
export async function listOperations(
  kube: KubeClient,
  namespace: string | undefined,
  action?: OperationAction,
): Promise<StoredOperation[]> {
  const [own, clusterWide] = await Promise.all([
    kube.list<StoredOperation>(VirtualMachineOperations, { namespace }),
    ignoreForbidden(kube.list<StoredOperation>(ClusterVirtualMachineOperations)),
  ]);
  const all = [...own.items, ...(clusterWide?.items ?? [])];
  return action === undefined ? all : all.filter(({ spec }) => spec.action === action);
}

/** Undoing needs the records on VMs. `where`: in which namespace they are, with a space before it. */
export const noRecordOf = (where: string, operation: string): Failure =>
  new Failure(`no VM${where} has a record of ${plain(operation)}: \`drover operations get -A\` lists the operations`);

/** Throws `UsageError` for what can't be the name of an operation. */
export function checkName(name: string | undefined): void {
  if (name === undefined) return;
  if (name === '' || name.endsWith('/'))
    throw new UsageError(`which operation? ${JSON.stringify(name)} is not the name of one`);
  if (name.includes('/')) namedTargetsOf([name], KINDS);
}

interface MeantOptions {
  orNewest: boolean;
  /** Only operations with this action. */
  action?: OperationAction | undefined;
}

/**
 * Returns the operation of this name: of the namespace or of any, or cluster-wide; `cvmop/NAME` is only the latter.
 * Without a name, returns the running one or, with `orNewest` and if none does, the newest. Throws `Failure` if
 * there is none, or if several are meant.
 */
export async function findOperation(
  kube: KubeClient,
  namespace: string | undefined,
  name: string | undefined,
  { orNewest, action }: MeantOptions,
): Promise<StoredOperation> {
  if (name !== undefined && (namespace !== undefined || name.includes('/')))
    return operationNamed(kube, namespace ?? 'default', name);
  const all = (await listOperations(kube, namespace, action))
    .filter(({ metadata }) => name === undefined || metadata.name === name)
    .toSorted((a, b) => b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp));
  const going = name === undefined ? all.filter((operation) => !isOver(operation)) : all;
  const argument = namespace === undefined ? nameOf : argumentOf;
  if (going.length > 1 && name === undefined)
    throw new Failure(`${going.length} operations are running, name one: ${going.map(argument).join(', ')}`);
  if (going.length > 1)
    throw new Failure(
      `there are ${going.length} operations ${name}, say which by -n: ${going.map(argument).join(', ')}`,
    );
  const meant = going[0] ?? (orNewest ? all[0] : undefined);
  if (meant !== undefined) return meant;
  const which = name === undefined ? 'no operation' : `no operation ${name}`;
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  const state = orNewest || name !== undefined ? '' : ' is running';
  throw new Failure(`${which}${where}${state}: \`drover operations get -A\` lists all`);
}

/** What a command takes for this operation. */
const argumentOf = ({ metadata: { namespace, name } }: StoredOperation): string =>
  namespace === undefined ? `cvmop/${name}` : name;

async function operationNamed(kube: KubeClient, namespace: string, arg: string): Promise<StoredOperation> {
  const [of, name = arg] = arg.includes('/') ? givenKind(arg) : [];
  const read = (resource: Kind['resource']): Promise<StoredOperation> =>
    kube.get<StoredOperation>(resource, { namespace, name });
  if (of !== undefined) return read(of);
  const [own, clusterWide] = await Promise.allSettled([
    read(VirtualMachineOperations),
    read(ClusterVirtualMachineOperations),
  ]);
  if (own.status === 'fulfilled' && clusterWide.status === 'fulfilled')
    throw new Failure(`there are two operations ${name}: say vmop/${name} or cvmop/${name}`);
  if (own.status === 'fulfilled') return own.value;
  if (clusterWide.status === 'fulfilled' && isNotFound(own.reason)) return clusterWide.value;
  throw own.reason;
}

function givenKind(arg: string): [Kind['resource'], string] {
  const { kind, names } = namedTargetsOf([arg], KINDS);
  return [kind.resource, names[0]!];
}

/** Changes what may be changed of an operation, and says who does. Throws `Failure` if it is over. */
export async function steer(
  kube: KubeClient,
  operation: StoredOperation,
  change: Pick<OperationSpec, 'paused' | 'aborted'>,
  reason: string | undefined,
): Promise<void> {
  const { metadata, spec } = operation;
  if (isOver(operation)) throw new Failure(`operation ${nameOf(operation)} has already ended`);
  const isNew = Object.entries(change).some(
    ([field, value]) => (spec[field as keyof typeof change] ?? false) !== value,
  );
  const generation = (metadata.generation ?? 0) + (isNew ? 1 : 0);
  const annotations = {
    [CHANGE_CAUSE_ANNOTATION]: reason === '' ? null : (reason ?? null),
    [REQUESTED_BY_ANNOTATION]: requesterAnnotation(await userOf(kube), String(generation)),
  };
  const patch = { metadata: { uid: metadata.uid, annotations }, spec: change };
  await kube.patch(operationResource(metadata), metadata, 'merge', patch);
}
