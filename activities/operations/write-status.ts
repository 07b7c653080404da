import type { KubeObject, Stored } from '../../api/objects.ts';
import { VirtualMachineOperations, type Resource } from '../../api/resources.ts';
import { canonical } from '../../decisions/lib/canonical-json.ts';
import { operationEndedEvent } from '../../decisions/notices/ended-event.ts';
import { operationResource, type OperationRef } from '../../decisions/operations/ref.ts';
import { operationStatus, type ObservedRun } from '../../decisions/operations/status.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, isConflict, KubeError } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { recordOperationEvent } from '../lib/events.ts';
import { liveOperation } from './live-operation.ts';

/** A JSON patch whose test fails is answered like this. */
const isRace = (error: unknown): boolean => isConflict(error) || (error instanceof KubeError && error.status === 422);

/**
 * Writes how the operation stands to its status, unless the status already says so or has its end, and records its end
 * as an Event. `known`: the operation as it was last seen. Returns it as it is now; undefined if it is deleted.
 */
export async function writeOperationStatus(
  client: KubeClient,
  ref: OperationRef,
  known: StoredOperation,
  observed: ObservedRun,
): Promise<StoredOperation | undefined> {
  const written = await retryOnConflict(
    async (tries) => {
      const operation = tries === 1 ? known : await liveOperation(client, ref);
      if (operation === undefined || operation.status?.completionTime !== undefined) return operation;
      const status = operationStatus(operation, observed, new Date().toISOString());
      if (canonical(status) === canonical(operation.status)) return operation;
      return ignoreNotFound(replaceStatus<StoredOperation>(client, operationResource(ref), operation, status));
    },
    { isRace },
  );
  const event = written && ref.namespace !== undefined ? operationEndedEvent(written) : null;
  if (event !== null) {
    const { namespace, name, uid } = { ...ref, namespace: ref.namespace! };
    await recordOperationEvent(client, VirtualMachineOperations, { namespace, name, uid }, event, uid);
  }
  return written;
}

/** Replaces the status of an object in the version that was read. */
export function replaceStatus<T extends KubeObject>(
  client: KubeClient,
  resource: Resource,
  { metadata }: Stored,
  status: object,
): Promise<Stored<T>> {
  const { uid, resourceVersion } = metadata;
  const patch = [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    { op: 'add', path: '/status', value: status },
  ];
  return client.patch<T>(resource, metadata, 'json', patch, { subresource: 'status' });
}
