import { createHash } from 'node:crypto';
import { activityInfo, log } from '@temporalio/activity';
import { API_VERSION, EVENT_REPORTER } from '../../api/labels-and-annotations.ts';
import type { VmOwnerKind } from '../../api/owner-kinds.ts';
import { apiVersionOf, CoreEvents, VirtualMachines, type Resource } from '../../api/resources.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isAlreadyExists } from '../../kubernetes/errors.ts';
import { eventOf, type EventDetails, type RegardingObject } from '../../kubernetes/event.ts';

export type PoolEvent = EventDetails;

/**
 * Records an Event on the pool, or on an owner of another kind; `kubectl describe` shows it. One Event covers all that
 * an activity did, under a name derived from the activity, so that a retry does not write a second one. An Event that
 * can't be written is only logged. `cause`: what it is about, if more than one activity may record it.
 */
export function recordEvent(
  client: KubeClient,
  { kind = 'VirtualMachinePool', ...key }: Identity & { kind?: VmOwnerKind | undefined },
  event: PoolEvent,
  cause?: string,
): Promise<void> {
  return record(client, { apiVersion: API_VERSION, kind, ...regarded(key) }, event, cause);
}

/** Does the same on a VM of any owner. */
export function recordVmEvent(client: KubeClient, vm: VmView, event: PoolEvent, cause?: string): Promise<void> {
  return record(
    client,
    { apiVersion: apiVersionOf(VirtualMachines), kind: VirtualMachines.kind, ...regarded(vm) },
    event,
    cause,
  );
}

/** Does the same on a schedule of operations, or an operation of a namespace. */
export function recordOperationEvent(
  client: KubeClient,
  { kind }: Resource,
  key: Identity,
  event: PoolEvent,
  cause: string,
): Promise<void> {
  return record(client, { apiVersion: API_VERSION, kind, ...regarded(key) }, event, cause);
}

type Identity = Omit<RegardingObject, 'apiVersion' | 'kind'>;

const regarded = ({ namespace, name, uid, resourceVersion }: Identity): Identity => ({
  namespace,
  name,
  uid,
  ...(resourceVersion === undefined ? {} : { resourceVersion }),
});

async function record(client: KubeClient, regarding: RegardingObject, event: PoolEvent, cause?: string): Promise<void> {
  const { workflowExecution, activityId } = activityInfo();
  const id = createHash('sha256')
    .update(`${cause ?? `${workflowExecution?.runId}/${activityId}`}/${event.reason}`)
    .digest('hex')
    .slice(0, 16);
  const instance = workflowExecution?.workflowId ?? regarding.name;
  try {
    await client.create(CoreEvents, eventOf(regarding, event, { component: EVENT_REPORTER, instance, id }));
  } catch (error) {
    if (!isAlreadyExists(error))
      log.warn('an Event could not be written', { reason: event.reason, error: (error as Error).message });
  }
}
