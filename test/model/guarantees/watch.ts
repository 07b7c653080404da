import type { World } from '../world/world.ts';
import { BatchGuarantees } from './batches.ts';
import { PlanGuarantees } from './plans.ts';
import { Guarantees } from './pools.ts';
import { RefusalGuarantees } from './refusals.ts';
import { RunGuarantees } from './runs.ts';
import { SetGuarantees } from './sets.ts';
import { UpdateGuarantees } from './updates.ts';

/**
 * Checks all that happens in this world, while `live` runs, against the guarantees in `docs/guarantees.md`. `off`:
 * numbers of guarantees that are not checked.
 */
export function watched(world: World, live: () => Promise<void>, off: readonly string[] = []): () => Promise<void> {
  const pools = new Guarantees(world, off);
  world.onlookers.push(
    new PlanGuarantees(world, off),
    new BatchGuarantees(world, off),
    new UpdateGuarantees(world, off),
    new RunGuarantees(world, off),
    new SetGuarantees(world, off),
    new RefusalGuarantees(world, off),
  );
  return () => pools.during(live);
}
