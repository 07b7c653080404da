import { randomBytes } from 'node:crypto';
import { COMMAND_REPORTER } from '../../api/names.ts';
import type { Stored } from '../../api/objects.ts';
import type { EventReason } from '../../api/reasons.ts';
import { apiVersionOf, CoreEvents, type Resource } from '../../api/resources.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import { eventOf } from '../../kubernetes/event.ts';
import { requestedBy } from '../session/requester.ts';

/** Records an Event on the pool about VMs that joined or left. Does nothing if the user may not create Events. */
export async function recordMembers(
  kube: KubeClient,
  resource: Resource,
  { metadata: { namespace = '', name, uid } }: Stored,
  { reason, verb, vms }: { reason: EventReason; verb: string; vms: readonly string[] },
): Promise<void> {
  if (vms.length === 0) return;
  const by = await requestedBy(async () => kube);
  const regarding = { apiVersion: apiVersionOf(resource), kind: resource.kind, namespace, name, uid };
  const event = {
    type: 'Normal',
    reason,
    action: 'ChangeMembers',
    note: `${verb} ${formatNames(vms)}, asked by ${by}`,
  } as const;
  const reporter = { component: COMMAND_REPORTER, instance: by, id: randomBytes(8).toString('hex') };
  try {
    await kube.create(CoreEvents, eventOf(regarding, event, reporter));
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
  }
}
