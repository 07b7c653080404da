import { createHash } from 'node:crypto';
import { activityInfo, log } from '@temporalio/activity';
import { API_VERSION, EVENT_REPORTER } from '../../api/names.ts';
import type { VmOwnerKind } from '../../api/owner-kinds.ts';
import { apiVersionOf, CoreEvents, VirtualMachines } from '../../api/resources.ts';
import type { StoredVmOwner } from '../../decisions/views/owner.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isAlreadyExists } from '../../kubernetes/errors.ts';
import { eventOf, type EventDetails, type RegardingObject } from '../../kubernetes/event.ts';

export type PoolEvent = EventDetails;

/**
 * Records an Event on the pool, or on an owner of another kind; `kubectl describe` shows it. One Event covers all that
 * an activity did, under a name derived from the activity, so that a retry does not write a second one. An Event that
 * can't be written is only logged.
 */
export function recordEvent(
  client: KubeClient,
  { metadata }: Pick<StoredVmOwner, 'metadata'>,
  event: PoolEvent,
  kind: VmOwnerKind = 'VirtualMachinePool',
): Promise<void> {
  return record(client, { apiVersion: API_VERSION, kind, ...regarded(metadata) }, event);
}

/** Does the same on a VM, whoever owns it. */
export function recordVmEvent(client: KubeClient, vm: VmView, event: PoolEvent): Promise<void> {
  return record(
    client,
    { apiVersion: apiVersionOf(VirtualMachines), kind: VirtualMachines.kind, ...regarded(vm) },
    event,
  );
}

type Identity = Omit<RegardingObject, 'apiVersion' | 'kind'>;

const regarded = ({ namespace, name, uid, resourceVersion }: Identity): Identity => ({
  namespace,
  name,
  uid,
  ...(resourceVersion === undefined ? {} : { resourceVersion }),
});

async function record(client: KubeClient, regarding: RegardingObject, event: PoolEvent): Promise<void> {
  const { workflowExecution, activityId } = activityInfo();
  const id = createHash('sha256')
    .update(`${workflowExecution?.runId}/${activityId}/${event.reason}`)
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
