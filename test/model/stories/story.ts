import { expect } from 'vitest';
import type { PoolStatus } from '../../../api/pool/pool.ts';
import { Nodes } from '../../../api/resources.ts';
import type { Node } from '../../../simulator/objects/kubevirt.ts';
import { watched } from '../guarantees/watch.ts';
import { aSpec } from '../pools.ts';
import { World, type WorldOptions } from '../world/world.ts';

/** What stories, each of which tells one thing that once went wrong, have in common. */

const HOUR_MS = 3_600_000;

/**
 * Plays the story once per seed, of which a number stands for the first ones: each has other delays between the parts.
 */
export async function play(
  live: (world: World) => Promise<void>,
  options: Partial<WorldOptions> = {},
  seeds: number | readonly number[] = 2,
): Promise<void> {
  for (const seed of typeof seeds === 'number' ? Array.from({ length: seeds }, (_, index) => index + 1) : seeds) {
    const world = new World({ seed, ...options });
    await world.run(
      3 * HOUR_MS,
      watched(world, () => live(world)),
    );
    if (process.env['MODEL_TELLS'] !== undefined) process.stdout.write(`${world.trail.join('\n')}\n`);
  }
}

export const statusOf = (world: World, name = 'web'): PoolStatus | undefined => world.pool(name)?.status;
export const isReady =
  (world: World, count: number, name = 'web') =>
  (): boolean =>
    statusOf(world, name)?.readyReplicas === count;

/** Creates a pool, and waits until all of its VMs are ready. */
export async function begun(world: World, spec: Parameters<typeof aSpec>[0] = {}, name = 'web'): Promise<void> {
  const pool = aSpec(spec);
  await world.people.createPool(name, pool);
  expect(await world.until(isReady(world, pool.replicas ?? 1, name), 120_000)).toBe(true);
  await world.wait(2_000);
}

/** Adds a node to which VMs can move off both others. */
export function addNode(world: World): void {
  const { metadata, ...node } = world.server.find<Node>(Nodes, { name: 'sim-node-1' })!;
  const name = 'sim-node-3';
  const labels = { ...metadata.labels, 'kubernetes.io/hostname': name };
  world.server.create(Nodes, { ...node, metadata: { name, labels } });
}
