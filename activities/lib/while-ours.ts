import { cancellationSignal } from '@temporalio/activity';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { VirtualMachines } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict, ignoreNotFound } from '../../kubernetes/errors.ts';
import type { PoolKey } from '../pool/types.ts';

/** KubeVirt writes to a VM that starts or stops several times a second. */
const TRIES = 8;

export interface OwnedVm {
  name: string;
  uid: string;
  /** As which it was seen to be the pool's; absent where that is to be looked up first. */
  resourceVersion?: string;
}

/**
 * `spared`: it is not wanted any more. Where it was not possible: the version that a later plan must have seen,
 * undefined if the VM is no more.
 */
export type Acted = 'done' | 'spared' | { left: string | undefined };

export interface WhileOursOptions {
  /** Asked right before each act. */
  isWanted: () => Promise<boolean>;
  /** So many times where it has changed and is the pool's all the same. */
  again?: number;
  /** Whether one that has changed is still to be acted on. */
  isSame?: (vm: Stored) => boolean;
}

/**
 * Does something to a VM, as long as it is the pool's: what was seen may be late, and its owner may have let go of it
 * since, as Kubernetes does where a pool is deleted without its VMs. `act` must fail with a conflict where the VM is
 * not of that version.
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
