import { portionOf } from '../../decisions/shards/portion.ts';
import type { TestFleet } from './fleet.ts';

/** Makes a namespace in each of two shards. */
export async function namespacesOfShards(fleet: TestFleet): Promise<string[]> {
  const found: string[] = [];
  while (found[0] === undefined || found[1] === undefined) {
    const namespace = await fleet.namespace();
    found[portionOf(namespace, 2).shard!] ??= namespace;
  }
  return found;
}
