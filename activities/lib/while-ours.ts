import { cancellationSignal } from '@temporalio/activity';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { VirtualMachines } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict, ignoreNotFound } from '../../kubernetes/errors.ts';
import type { PoolKey } from '../pool/types.ts';

/** KubeVirt writes to a starting or stopping VM several times a second. */
const TRIES = 8;

export interface OwnedVm {
  name: string;
  uid: string;
  /** The version in which the VM was seen to be the pool's; absent if that must be looked up first. */
  resourceVersion?: string;
}

/**
 * `spared`: the act is no longer wanted. `left`: the act was not possible; holds the version that a later plan must
 * have seen, undefined if the VM no longer exists.
 */
export type Acted = 'done' | 'spared' | { left: string | undefined };

export interface WhileOursOptions {
  /** Asked right before each try. */
  isWanted: () => Promise<boolean>;
  /** How often to retry if the VM has changed but is still the pool's. */
  again?: number;
  /** Whether a VM that has changed should still be acted on. */
  isSame?: (vm: Stored) => boolean;
}

/**
 * Acts on a VM as long as it is the pool's: what was seen may be outdated, and the pool may have lost its owner
 * reference since, as when it is deleted without its VMs. `act` must fail with a conflict if the VM is not at the given
 * version.
 */
export async function whileOurs(
  client: KubeClient,
  key: PoolKey,
  vm: OwnedVm,
  act: (resourceVersion: string) => Promise<void>,
  { isWanted, again = TRIES, isSame = () => true }: WhileOursOptions,
): Promise<Acted> {
  let version = vm.resourceVersion;
  for (let tries = 0; ; tries++) {
    if (version !== undefined) {
      if (!(await isWanted())) return 'spared';
      if (await isDone(act(version))) return 'done';
    }
    const now = await ignoreNotFound(
      client.get(VirtualMachines, { namespace: key.namespace, name: vm.name }, { signal: cancellationSignal() }),
    );
    version = now?.metadata.resourceVersion;
    const isOurs = now?.metadata.uid === vm.uid && controllerOf(now)?.uid === key.uid && isSame(now);
    if (!isOurs || tries >= again) return { left: version };
  }
}

async function isDone(act: Promise<void>): Promise<boolean> {
  try {
    await act;
    return true;
  } catch (error) {
    if (isConflict(error)) return false;
    throw error;
  }
}
