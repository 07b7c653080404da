/**
 * The newest state that somebody is known to have seen or made, as resource versions: of pools, of VMs, and of
 * VirtualMachineInstances. A plan is made on caches that have reached them, so that no decision is older than the last
 * act.
 */
export interface Seen {
  pools?: string | undefined;
  vms?: string | undefined;
  vmis?: string | undefined;
}

/** Kubernetes counts in 64 bits. */
const VERSION = /^\d{1,20}$/;

/** True for a resource version; anything may stand in a signal, and only these can be compared. */
export const isVersion = (value: unknown): value is string => typeof value === 'string' && VERSION.test(value);

/** Resource versions of one kind compare as integers; what is none counts for nothing. */
export function later(one: string | undefined, other: string | undefined): string | undefined {
  if (!isVersion(one)) return isVersion(other) ? other : undefined;
  return !isVersion(other) || BigInt(one) >= BigInt(other) ? one : other;
}

export const laterSeen = (one: Seen, other: Seen): Seen => ({
  pools: later(one.pools, other.pools),
  vms: later(one.vms, other.vms),
  vmis: later(one.vmis, other.vmis),
});
