import type { MemberKind, OwnerKind } from '../../api/owner-kinds.ts';

/** The caches that plans wait for, by the names that the table of owner kinds gives them. */
export const VERSIONED = [
  'pools',
  'replicaSets',
  'vmiSets',
  'vms',
  'vmis',
  'migrations',
  'namespaces',
  'nodes',
] as const satisfies readonly Versioned[];

type Versioned = OwnerKind['cache'] | MemberKind['cache'] | 'migrations' | 'namespaces' | 'nodes';

/**
 * The newest state known to have been seen or written, as resource versions of pools, replica sets of both kinds, VMs,
 * VirtualMachineInstances, drover's migrations of these, namespaces and nodes. Plans are made only from caches that
 * have reached it, so that no decision is older than the last write.
 */
export type ResourceVersions = { [kind in Versioned]?: string | undefined };

/** Resource versions have 64 bits. */
const VERSION = /^\d{1,20}$/;

/** True for a resource version; a signal may contain anything, and only these can be compared. */
export const isVersion = (value: unknown): value is string => typeof value === 'string' && VERSION.test(value);

/** Returns the later of two resource versions of one kind, compared as integers; invalid ones are ignored. */
export function later(a: string | undefined, b: string | undefined): string | undefined {
  if (!isVersion(a)) return isVersion(b) ? b : undefined;
  return !isVersion(b) || BigInt(a) >= BigInt(b) ? a : b;
}

/** Reports whether one resource version of a kind is earlier than another; not if one of them is not known. */
export const isEarlier = (a: string | undefined, b: string | undefined): boolean =>
  isVersion(a) && isVersion(b) && BigInt(a) < BigInt(b);

export const maxVersions = (a: ResourceVersions, b: ResourceVersions): ResourceVersions =>
  Object.fromEntries(VERSIONED.map((kind) => [kind, later(a[kind], b[kind])]));
