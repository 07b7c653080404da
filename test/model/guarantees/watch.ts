import { activityNow, isByWorker } from '../facts.ts';
import { HoldGuarantees } from '../holds/guarantee.ts';
import { PoolRecord } from '../pool-record.ts';
import { RequestGuarantees } from '../requests/guarantee.ts';
import { CheckGuarantees } from '../rollouts/checks/guarantee.ts';
import type { Call } from '../world/model-client.ts';
import { STRANGERS } from '../world/strangers.ts';
import type { World } from '../world/world.ts';
import { BatchGuarantees } from './batches.ts';
import { BudgetGuarantees } from './budget.ts';
import { Check } from './check.ts';
import { CreatedVmGuarantees } from './created-vms.ts';
import { DiskGuarantees } from './disks.ts';
import { MigrationGuarantees } from './migrations.ts';
import { PlanGuarantees } from './plans.ts';
import { PoolGuarantees } from './pools.ts';
import { RefusalGuarantees } from './refusals.ts';
import { RemovedVmGuarantees } from './removed-vms.ts';
import { ReturnedVmGuarantees } from './returned-vms.ts';
import { RunGuarantees, TransitionGuarantees } from './runs.ts';
import { SetGuarantees } from './sets.ts';
import { UpdateGuarantees } from './updates.ts';

/**
 * Checks all that happens in this world, while `live` runs, against the guarantees in `docs/guarantees.md`. `off`:
 * numbers of guarantees that are not checked.
 */
export function watched(world: World, live: () => Promise<void>, off: readonly string[] = []): () => Promise<void> {
  const record = new PoolRecord(world);
  const pools = new PoolGuarantees(world, off, record);
  const budget = new BudgetGuarantees(world, off, record);
  const transitions = new TransitionGuarantees(world, off);
  world.onlookers.push(
    // First, since the others ask it.
    record,
    pools,
    new CreatedVmGuarantees(world, off, record),
    new ReturnedVmGuarantees(world, off, record),
    new RemovedVmGuarantees(world, off, record, budget),
    new HoldGuarantees(world, off),
    new MigrationGuarantees(world, off),
    budget,
    new DiskGuarantees(world, off, record),
    new PlanGuarantees(world, off),
    new BatchGuarantees(world, off),
    new UpdateGuarantees(world, off, record),
    new CheckGuarantees(world, off),
    new RunGuarantees(world, off),
    transitions,
    new SetGuarantees(world, off),
    new RefusalGuarantees(world, off),
    new RequestGuarantees(world, off),
    new StrangerGuarantees(world, off),
  );
  return async () => {
    await pools.during(live);
    transitions.checkEnd();
  };
}

/** Checks that workers write nothing to a namespace which has no pool or set, whatever its objects say (G28). */
class StrangerGuarantees extends Check {
  onCall(call: Call): void {
    if (!isByWorker(call) || call.key.namespace !== STRANGERS || call.verb === 'get' || call.verb === 'list') return;
    this.broken('G28', `${activityNow()} would ${call.verb} ${call.resource?.plural} ${call.key.name} of strangers`);
  }
}
