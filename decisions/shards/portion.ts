/**
 * What one task queue and one watch of a cluster are for, whose namespaces are divided into so many shards: one of the
 * shards, or else what is in no namespace. Without division, all of the cluster is one.
 */
export interface Portion {
  shards: number;
  shard?: number | undefined;
}

export const UNDIVIDED: Portion = { shards: 1 };

/** Returns all portions of a cluster. */
export const portionsOf = (shards: number): Portion[] => [
  { shards },
  ...(shards === 1 ? [] : Array.from({ length: shards }, (_, shard) => ({ shards, shard }))),
];

/** Returns the portion that a namespace is in; without one, what is in no namespace. */
export const portionOf = (namespace: string | undefined, shards: number): Portion =>
  shards === 1 || namespace === undefined ? { shards } : { shards, shard: shardOf(namespace, shards) };

/** Whether a namespace, or without one what is in none, is in this portion. */
export const isInPortion = ({ shards, shard }: Portion, namespace: string | undefined): boolean =>
  portionOf(namespace, shards).shard === shard;

const SEED = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;

/** Returns the 64-bit FNV-1a hash of a text. */
export function fnv1a(text: string): bigint {
  let hash = SEED;
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME);
  return hash;
}

const hashes = new Map<string, bigint>();
/** More than there are namespaces. */
const MOST_HASHES = 20_000;

/**
 * Returns the number of a namespace's shard, from 0. The remainder, since names that end in numbers differ in the last
 * bits of the hash, and hardly in the first.
 */
function shardOf(namespace: string, shards: number): number {
  let hash = hashes.get(namespace);
  if (hash === undefined) {
    hash = fnv1a(namespace);
    if (hashes.size >= MOST_HASHES) hashes.clear();
    hashes.set(namespace, hash);
  }
  return Number(hash % BigInt(shards));
}
