import { cancellationSignal } from '@temporalio/activity';
import { type Stored } from '../../api/objects.ts';
import { isControlledBy } from '../../api/ownership.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { liveMember } from '../lib/live-vm.ts';
import { kindOfOwner } from './kinds.ts';
import type { OwnerKey } from './types.ts';

export interface OwnedVm {
  name: string;
  uid: string;
  /** The version in which the VM was seen to be the pool's; absent if that must be looked up first. */
  resourceVersion?: string;
}

/**
 * `notWanted`: the act is no longer wanted. `left`: the act was not possible; holds the version that a later plan must
 * have seen, undefined if the VM no longer exists.
 */
export type OwnedActResult = 'done' | 'notWanted' | { left: string | undefined };

export interface IfOwnedOptions {
  /** Asked right before each try. */
  isWanted: () => Promise<boolean>;
  /** Whether a VM that has changed should still be acted on. */
  isSame?: (vm: Stored) => boolean;
  /** How often to try if the VM changes in between but is still the pool's. */
  tries?: number;
}

/**
 * Acts on a VM as long as it is the pool's: what was seen may be outdated, and the pool may have lost its owner
 * reference since, as when it is deleted without its VMs. `act` must fail with a conflict if the VM is not at the given
 * version.
 */
export async function ifOwned(
  client: KubeClient,
  key: OwnerKey,
  vm: OwnedVm,
  act: (resourceVersion: string) => Promise<void>,
  { isWanted, isSame = () => true, ...retry }: IfOwnedOptions,
): Promise<OwnedActResult> {
  const read = () => liveMember(client, key, { namespace: key.namespace, name: vm.name }, cancellationSignal());
  const write = async (tries: number): Promise<OwnedActResult> => {
    let version = tries === 1 ? vm.resourceVersion : undefined;
    if (version === undefined) {
      const now = await read();
      version = now?.metadata.resourceVersion;
      const isOurs = now?.metadata.uid === vm.uid && isControlledBy(now, kindOfOwner(key).resource, key) && isSame(now);
      if (version === undefined || !isOurs) return { left: version };
    }
    if (!(await isWanted())) return 'notWanted';
    await act(version);
    return 'done';
  };
  try {
    return await retryOnConflict(write, retry);
  } catch (error) {
    if (!isConflict(error)) throw error;
    return { left: (await read())?.metadata.resourceVersion };
  }
}
