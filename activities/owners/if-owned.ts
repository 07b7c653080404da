import type { Stored } from '../../api/objects.ts';
import { vmView } from '../../decisions/from-object/vm.ts';
import { vmiView } from '../../decisions/from-object/vmi.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict } from '../../kubernetes/errors.ts';
import { retryOnConflict, whileFresh, type LastCheck } from '../../kubernetes/retry.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { kindOfOwner } from './kinds.ts';
import { liveMember } from './live-vm.ts';
import type { OwnerKey } from './owner-key.ts';

export interface OwnedVm {
  name: string;
  uid: string;
  /** The version that was planned on: if this worker's own cache has just that one, it need not be read again. */
  resourceVersion?: string;
}

/** A member as it is in one version: an act on just that version may rely on all of this. */
export interface SeenMember {
  uid: string;
  resourceVersion: string;
  /** Null without a controller; undefined for an object that can't be a member. */
  owner: VmView['owner'] | undefined;
  /** Null for a member that is a VMI. */
  vm: VmView | null;
  /** Null for a member that is a VM. */
  vmi: VmiView | null;
  /** The object itself, if it was read. */
  stored?: Stored;
}

/**
 * `notWanted`: the act is no longer wanted. `skippedAt`: the act was not possible; holds the version that a later plan
 * must have seen, undefined if the VM no longer exists.
 */
export type OwnedActResult = 'done' | 'notWanted' | { skippedAt: string | undefined };

export interface IfOwnedOptions {
  /** This worker's caches, if they may save a call. */
  cache?: ClusterCache;
  /** Asked right before each try, of the member as it is then. */
  isWanted: (member: SeenMember) => Promise<boolean>;
  /** Whether a VM that has changed should still be acted on. */
  isSame?: (member: SeenMember) => boolean;
  /** How often to try if the VM changes in between but is still the pool's. */
  tries?: number;
  /** What else is checked last. */
  lastCheck?: LastCheck | undefined;
}

/**
 * Acts on a VM as long as it is the pool's: what was seen may be outdated, and the pool may have lost its owner
 * reference since, as when it is deleted without its VMs. Nothing is taken from the caller but whom it means: the owner
 * and the version are those of the API server, or of this worker's own cache. `act` must fail with a conflict if the VM
 * is not at the version of the member that it is given, and hands the last check on to its request.
 */
export async function ifOwned(
  client: KubeClient,
  key: OwnerKey,
  target: OwnedVm,
  act: (member: SeenMember, lastCheck: LastCheck) => Promise<void>,
  { cache, isWanted, isSame = () => true, lastCheck: also, ...retry }: IfOwnedOptions,
): Promise<OwnedActResult> {
  const at = { namespace: key.namespace, name: target.name };
  const read = async (): Promise<SeenMember | undefined> => {
    const stored = await liveMember(client, key, at);
    return stored === undefined ? undefined : seenMember(key, stored);
  };
  const write = async (tries: number, lastCheck: LastCheck): Promise<OwnedActResult> => {
    const known = tries === 1 && cache !== undefined ? cachedMember(cache, key, target) : undefined;
    const member = known ?? (await read());
    if (member === undefined || !isMemberOf(key, member) || member.uid !== target.uid || !isSame(member))
      return { skippedAt: member?.resourceVersion };
    if (!(await isWanted(member))) return 'notWanted';
    await act(member, lastCheck);
    return 'done';
  };
  try {
    return await retryOnConflict((tries) => whileFresh((lastCheck) => write(tries, lastCheck), also), retry);
  } catch (error) {
    if (!isConflict(error)) throw error;
    return { skippedAt: (await read())?.resourceVersion };
  }
}

/** Reports whether the pool or set of this key controls the member. */
export const isMemberOf = (key: OwnerKey, { owner }: Pick<SeenMember, 'owner'>): boolean =>
  owner != null && isUid(key.uid) && owner.uid === key.uid && owner.kind === kindOfOwner(key).resource.kind;

/** A caller may have sent anything, and two UIDs that are missing are not equal. */
const isUid = (uid: unknown): boolean => typeof uid === 'string' && uid !== '';

const seen = (vm: VmView | null, vmi: VmiView | null): SeenMember => {
  const { uid, resourceVersion } = (vm ?? vmi)!;
  return { uid, resourceVersion, owner: vm === null ? vmi!.standalone?.owner : vm.owner, vm, vmi };
};

/** Returns what is known of a member that was read. */
export const seenMember = (key: OwnerKey, stored: Stored): SeenMember => ({
  ...(kindOfOwner(key).members.cache === 'vms' ? seen(vmView(stored), null) : seen(null, vmiView(stored))),
  stored,
});

/** Returns the member from this worker's cache, if that has just the version that was planned on. */
function cachedMember(cache: ClusterCache, key: OwnerKey, target: OwnedVm): SeenMember | undefined {
  const { members } = kindOfOwner(key);
  const view = cache[members.cache].get(`${key.namespace}/${target.name}`);
  if (view === undefined || view.resourceVersion !== target.resourceVersion) return undefined;
  return members.cache === 'vms' ? seen(view as VmView, null) : seen(null, view as VmiView);
}
