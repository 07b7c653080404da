import type { Stored } from '../../api/objects.ts';
import { vmiView } from '../../decisions/from-object/vmi.ts';
import { roleOf } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ActRefused, isConflict, isTransient } from '../../kubernetes/errors.ts';

/** KubeVirt asks the node of the VMI, which may not answer. */
const DEADLINE_MS = 10_000;

/**
 * Asks KubeVirt to pause the VMI of this VM, or to let it continue, as `virtctl` does. Takes no precondition, so
 * callers read the VM right before. It is not an error if the VMI is already in that state. An error counts as a
 * refusal of this VM: it is the answer of its node, or the lack of one, and others may be on a node that does answer.
 */
export async function requestPause(
  client: KubeClient,
  { namespace, name }: { namespace: string; name: string },
  verb: 'pause' | 'unpause',
): Promise<void> {
  const path = `/apis/subresources.kubevirt.io/v1/namespaces/${encodeURIComponent(namespace)}/virtualmachineinstances/${encodeURIComponent(name)}/${verb}`;
  try {
    await client.request({ method: 'PUT', path, body: {}, deadlineMs: DEADLINE_MS });
  } catch (error) {
    if (isConflict(error) && /already paused|not paused/i.test(error.message)) return;
    if (!isTransient(error)) throw error;
    throw new ActRefused('FailedDependency', `${verb} of ${name}: ${(error as Error).message}`);
  }
}

/**
 * Lets a VM continue that its pool has kept paused as standby, before the pool lets go of it: afterwards nothing would
 * show that no user has paused it, and it would be left alone as long as it is paused. `vmi`: the VM's own.
 */
export async function unpauseStandby(client: KubeClient, { metadata }: Stored, vmi: Stored): Promise<void> {
  const isPaused = roleOf(metadata.labels) === 'Standby' && vmiView(vmi).pause !== null;
  if (isPaused) await requestPause(client, { namespace: metadata.namespace!, name: metadata.name }, 'unpause');
}
