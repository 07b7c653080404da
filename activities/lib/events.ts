import { createHash } from 'node:crypto';
import { activityInfo, log } from '@temporalio/activity';
import { API_VERSION, EVENT_REPORTER } from '../../api/names.ts';
import type { EventReason } from '../../api/reasons.ts';
import { apiVersionOf, CoreEvents, VirtualMachines } from '../../api/resources.ts';
import type { StoredVmOwner, VmOwnerKind } from '../../decisions/views/vm-owner.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isAlreadyExists } from '../../kubernetes/errors.ts';

export interface PoolEvent {
  type: 'Normal' | 'Warning';
  reason: EventReason;
  /** What drover was doing. */
  action: string;
  note: string;
}

const NOTE_LENGTH = 1024;

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

interface Regarded {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion?: string;
}

const regarded = ({ namespace, name, uid, resourceVersion }: Regarded): Regarded => ({
  namespace,
  name,
  uid,
  ...(resourceVersion === undefined ? {} : { resourceVersion }),
});

async function record(
  client: KubeClient,
  regarding: Regarded & { apiVersion: string; kind: string },
  event: PoolEvent,
): Promise<void> {
  const { namespace, name } = regarding;
  const { workflowExecution, activityId } = activityInfo();
  const id = createHash('sha256')
    .update(`${workflowExecution?.runId}/${activityId}/${event.reason}`)
    .digest('hex')
    .slice(0, 16);
  const now = new Date().toISOString();
  // In the core API group: Events of `events.k8s.io` may have no last timestamp, which kubectl needs to sort them and
  // to show their age.
  const at = now.replace(/\.\d+Z$/, 'Z');
  const object = {
    metadata: { name: `${name}.${id}`, namespace },
    eventTime: now.replace('Z', '000Z'),
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
    source: { component: EVENT_REPORTER },
    reportingComponent: EVENT_REPORTER,
    reportingInstance: workflowExecution?.workflowId.slice(0, 128) ?? name,
    type: event.type,
    reason: event.reason,
    action: event.action,
    message: event.note.slice(0, NOTE_LENGTH),
    involvedObject: regarding,
  };
  try {
    await client.create(CoreEvents, object);
  } catch (error) {
    if (!isAlreadyExists(error))
      log.warn('an Event could not be written', { reason: event.reason, error: (error as Error).message });
  }
}
