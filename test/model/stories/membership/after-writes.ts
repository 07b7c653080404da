import { activityNow } from '../../facts.ts';
import type { World } from '../../world/world.ts';

const MOVES: readonly unknown[] = ['changeMembers', 'adoptNamedVms', 'releaseVms', 'clearNamedRemovals'];

/** Has this happen to the worker that moves VMs, right after so many of its writes; returns whether it has. */
export function afterWrites(
  world: World,
  count: number,
  happens: (worker: World['workers'][number]) => void,
): () => boolean {
  let writes = 0;
  world.onlookers.push({
    onWrite: (_write, call) => {
      const worker = world.workers.find(({ process }) => process === call?.process);
      if (MOVES.includes(activityNow()) && worker !== undefined && ++writes === count) happens(worker);
    },
  });
  return () => writes >= count;
}
