import { cancellationSignal } from '@temporalio/activity';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict } from '../../kubernetes/errors.ts';

/**
 * Asks KubeVirt to pause the VMI of this VM, or to let it go on, as `virtctl` does. Takes no precondition, so callers read
 * the VM right before. A VMI that is so already is no error.
 */
export async function askForPause(
  client: KubeClient,
  { namespace, name }: { namespace: string; name: string },
  verb: 'pause' | 'unpause',
): Promise<void> {
  const path = `/apis/subresources.kubevirt.io/v1/namespaces/${encodeURIComponent(namespace)}/virtualmachineinstances/${encodeURIComponent(name)}/${verb}`;
  try {
    await client.request({ method: 'PUT', path, body: {}, signal: cancellationSignal() });
  } catch (error) {
    if (!isConflict(error) || !/already paused|not paused/i.test((error as Error).message)) throw error;
  }
}
