/**
 * The newest state that somebody is known to have seen or made, as resource versions: of pools, of VMs, and of
 * VirtualMachineInstances. A plan is made on caches that have reached them, so that no decision is older than the last act.
 */
export interface Seen {
  pools?: string | undefined;
  vms?: string | undefined;
  vmis?: string | undefined;
}

/** Resource versions of one kind compare as integers. */
export function later(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return BigInt(one) >= BigInt(other) ? one : other;
}

export const laterSeen = (one: Seen, other: Seen): Seen => ({
  pools: later(one.pools, other.pools),
  vms: later(one.vms, other.vms),
  vmis: later(one.vmis, other.vmis),
});
