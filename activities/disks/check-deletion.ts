import { VirtualMachines } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, KubeError } from '../../kubernetes/errors.ts';

interface Seen {
  namespace: string | undefined;
  name: string;
  uid: string;
  resourceVersion: string;
}

/**
 * Throws as the deletion of this version of the VM would, without deleting it: a VM is halted to be deleted only if the
 * API server lets it go. Otherwise a VM that a policy protects would stay, and no longer run.
 */
export async function checkDeletion(
  client: KubeClient,
  { namespace, name, uid, resourceVersion }: Seen,
): Promise<void> {
  try {
    await ignoreNotFound(client.delete(VirtualMachines, { namespace, name }, { uid, resourceVersion, dryRun: true }));
  } catch (error) {
    if (!isUntold(error)) throw error;
  }
}

/** A webhook with side effects is not called for a dry run: then only the deletion itself tells. */
const isUntold = (error: unknown): boolean =>
  error instanceof KubeError && error.status === 400 && error.message.includes('does not support dry run');
