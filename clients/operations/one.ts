import { CHANGE_CAUSE_ANNOTATION } from '../../api/names.ts';
import type { OperationSpec } from '../../api/operations/operation.ts';
import { VirtualMachineOperations } from '../../api/resources.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure, UsageError } from '../cli/failure.ts';
import { ofKnownKind } from '../cli/known-kind.ts';
import { isOver } from './view.ts';

export async function listOperations(kube: KubeClient, namespace: string | undefined): Promise<StoredOperation[]> {
  const listed = kube.list<StoredOperation>(VirtualMachineOperations, { namespace });
  return (await ofKnownKind(VirtualMachineOperations, listed)).items;
}

/** Throws `UsageError` for what can't be the name of an operation. */
export function checkName(name: string | undefined): void {
  if (name === '' || name?.includes('/') === true)
    throw new UsageError(`which operation? ${JSON.stringify(name)} is not the name of one`);
}

/**
 * Returns the operation of this name. Without a name, returns the one that goes on or, with `orNewest` and if none
 * does, the newest. Throws `Failure` if there is none, or if several go on.
 */
export async function operationMeant(
  kube: KubeClient,
  namespace: string,
  name: string | undefined,
  { orNewest }: { orNewest: boolean },
): Promise<StoredOperation> {
  if (name !== undefined) {
    const read = kube.get<StoredOperation>(VirtualMachineOperations, { namespace, name });
    return ofKnownKind(VirtualMachineOperations, read);
  }
  const all = (await listOperations(kube, namespace)).toSorted((one, other) =>
    other.metadata.creationTimestamp.localeCompare(one.metadata.creationTimestamp),
  );
  const going = all.filter((operation) => !isOver(operation));
  if (going.length > 1)
    throw new Failure(
      `${going.length} operations go on, say which: ${going.map(({ metadata }) => metadata.name).join(', ')}`,
    );
  const meant = going[0] ?? (orNewest ? all[0] : undefined);
  if (meant !== undefined) return meant;
  throw new Failure(
    `no operation in namespace ${namespace}${orNewest ? '' : ' goes on'}: \`drover operations get -A\` lists all`,
  );
}

/** Changes what may be changed of an operation. Throws `Failure` if it is over. */
export async function steer(
  kube: KubeClient,
  operation: StoredOperation,
  spec: Pick<OperationSpec, 'paused' | 'aborted'>,
  reason: string | undefined,
): Promise<void> {
  const { namespace, name, uid } = operation.metadata;
  if (isOver(operation)) throw new Failure(`operation ${namespace}/${name} is over: nothing of it goes on`);
  const annotations = { [CHANGE_CAUSE_ANNOTATION]: reason === '' ? null : (reason ?? null) };
  await kube.patch(VirtualMachineOperations, { namespace, name }, 'merge', { metadata: { uid, annotations }, spec });
}
