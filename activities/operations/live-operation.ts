import type { KubeObject } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';
import { operationResource, type OperationRef } from '../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { CacheChange } from '../cache/objects/cache-change.ts';

/** Returns the object as the API server has it; undefined if it is deleted, or another has taken its name. */
export async function liveObject<T extends Pick<StoredOperation, 'metadata'>>(
  client: KubeClient,
  resource: Resource,
  ref: OperationRef,
): Promise<T | undefined> {
  const found = (await ignoreNotFound(client.get<KubeObject>(resource, ref))) as T | undefined;
  return found?.metadata.uid === ref.uid ? found : undefined;
}

export const liveOperation = (client: KubeClient, ref: OperationRef): Promise<StoredOperation | undefined> =>
  liveObject(client, operationResource(ref), ref);

/** Reports whether users have changed what this operation asks for, or have deleted it: its status does not count. */
export function isChangeByPeople(
  { before, after }: Extract<CacheChange, { kind: 'operation' }>,
  { uid }: OperationRef,
): boolean {
  if ((after ?? before)!.metadata.uid !== uid && before?.metadata.uid !== uid) return false;
  return before?.metadata.generation !== after?.metadata.generation || before?.metadata.uid !== after?.metadata.uid;
}
