import { VirtualMachines } from '../../../api/resources.ts';
import { watchBudgets } from '../budgets/guarantee.ts';
import { transitionInputOf } from '../facts.ts';
import { watched } from '../guarantees/watch.ts';
import type { BudgetHappening } from '../random/budgets.ts';
import type { Happening, SetHappening } from '../random/happenings.ts';
import type { Scenario } from '../random/scenarios.ts';
import { endRefusals, refuseFor } from '../refusals/refuse.ts';
import { NAMESPACE } from '../world/names.ts';
import type { Onlooker } from '../world/onlooker.ts';
import { World } from '../world/world.ts';
import { beginBudgets, checkQuiet, easeBudgets, happenToBudgets } from './budgets.ts';
import { happenToPool } from './happen-to-pool.ts';
import { happenToVm } from './happen-to-vm.ts';
import { createSet, happenToSet, settleSets } from './sets.ts';
import { openTransitions, settle } from './settle.ts';

const HOUR_MS = 3_600_000;
const POOLS = ['web', 'db'];
/** Machine type of VMs that no pool owns. */
const OLD_TYPE = 'pc-q35-rhel8.6.0';
/** A VM that all transitions exclude. */
const EXCLUDED = 'lone-1';

/**
 * Plays a scenario, ends all its faults, and checks that every pool then reaches its desired state. Throws `Broken` if
 * a guarantee is broken.
 */
export async function play(
  scenario: Scenario,
  off: readonly string[] = [],
  { strangers = false, onlooker }: { strangers?: boolean | 'silent'; onlooker?: (world: World) => Onlooker } = {},
): Promise<World> {
  const { seed, lag, longHistory, delays, specs, sets, budgets, ownerless, happenings } = scenario;
  const setKinds = sets.map(({ kind }) => kind);
  const owners = ['VirtualMachinePool', ...setKinds] as const;
  const withBudgets = budgets !== null;
  const options = { seed, lag, longHistory, delays, owners, strangers };
  const world = new World({ ...options, budgets: withBudgets, operations: withBudgets });
  if (onlooker !== undefined) world.onlookers.push(onlooker(world));
  const live = async (): Promise<void> => {
    const names = POOLS.slice(0, specs.length);
    for (let number = 1; number <= ownerless; number++)
      await world.people.createVm(`lone-${number}`, { machineType: OLD_TYPE });
    if (budgets !== null) await beginBudgets(world, budgets, ownerless);
    const guarantees = budgets === null ? null : watchBudgets(world);
    for (const [index, name] of names.entries()) await world.people.createPool(name, specs[index]!);
    for (const set of sets) await createSet(world, set);
    await world.wait(world.time.chance() < 0.5 ? 20_000 : 500);
    for (const { after, ...happening } of happenings) {
      await world.wait(after);
      if ('set' in happening) await happenToSet(world, setKinds, happening);
      else if (isAboutBudgets(happening)) happenToBudgets(world, happening);
      else await happen(world, names, happening);
    }
    await world.wait(world.time.between(0, 60_000));
    endFaults(world);
    if (guarantees !== null) await easeBudgets(world);
    await settleSets(world, setKinds);
    await settle(world, names);
    if (guarantees !== null) await checkQuiet(world, guarantees);
  };
  await world.run(8 * HOUR_MS, watched(world, live, off));
  return world;
}

const OF_BUDGETS = new Set<Happening['what']>(['budget', 'budget again', 'no budget', 'app', 'drain', 'operation']);
const isAboutBudgets = (happening: Happening): happening is BudgetHappening => OF_BUDGETS.has(happening.what);

async function happen(
  world: World,
  names: readonly string[],
  happening: Exclude<Happening, SetHappening | BudgetHappening>,
): Promise<void> {
  if ('pool' in happening) return happenToPool(world, names[happening.pool % names.length]!, happening);
  if (happening.what === 'refuse') return refuse(world, happening);
  if ('vm' in happening) return happenToVm(world, names, happening);
  if ('workflow' in happening) return endWorkflow(world, happening);
  if (happening.what === 'lose Temporal') return loseTemporal(world);
  if (happening.what === 'machine types') return changeMachineTypes(world, happening);
  const worker = world.workers[happening.worker % world.workers.length]!;
  if (worker.process.state !== 'running' || worker.process.isCutOff) return;
  switch (happening.what) {
    case 'kill':
      world.kill(worker);
      void world.wait(15_000).then(() => world.addWorker());
      return;
    case 'freeze':
      world.freeze(worker);
      void world.wait(happening.ms).then(() => world.thaw(worker));
      return;
    case 'cut off':
      world.cutOff(worker, true);
      void world.wait(happening.ms).then(() => world.cutOff(worker, false));
  }
}

/** Ends a workflow in Temporal's Web UI. */
function endWorkflow(world: World, { what, workflow }: Extract<Happening, { workflow: number }>): void {
  const open = [...world.temporal.runs.values()].filter(({ isOpen }) => isOpen);
  const run = open[workflow % Math.max(open.length, 1)];
  if (run === undefined) return;
  world.say(`-- ${what}: ${run.id}`);
  if (what === 'cancel workflow') world.temporal.cancel(run.id);
  else world.temporal.terminate(run.id);
  const input = run.isOpen ? undefined : transitionInputOf(run);
  if (input !== undefined) void world.wait(15_000).then(() => world.people.runTransition(input));
}

function loseTemporal(world: World): void {
  world.say('-- Temporal loses all workflows');
  const transitions = openTransitions(world);
  for (const { id } of world.temporal.runs.values()) world.temporal.terminate(id);
  void world.wait(15_000).then(() => {
    for (const { input } of transitions) world.people.runTransition(input);
  });
}

function refuse(world: World, { call, vm, isOfAll, ms }: Extract<Happening, { what: 'refuse' }>): void {
  const all = world.server.all(VirtualMachines);
  const name = isOfAll || all.length === 0 ? null : all[vm % all.length]!.metadata.name;
  refuseFor(world, { what: call, name, ms });
}

function changeMachineTypes(world: World, happening: Extract<Happening, { what: 'machine types' }>): void {
  const { restartNow, maxRestarts, isUndo } = happening;
  const ended = [...world.temporal.runs.values()].findLast(
    (run) => transitionInputOf(run) !== undefined && !run.isOpen,
  );
  const undoes = isUndo && ended !== undefined ? ended.id.split('/').at(-1)! : null;
  const { glob, to } = undoes === null ? happening : { glob: '*', to: null };
  const scope = {
    glob,
    // Without a namespace, a transition is about the VMs of strangers, too.
    namespaces: world.hasStrangers ? [NAMESPACE] : null,
    labelSelector: null,
    names: [],
    exclude: [EXCLUDED],
    only: null,
    undoes,
  };
  const how = { maxFailures: 2, deadlineMs: 60_000, windows: [], force: false };
  world.people.startTransition({ scope, to, restartNow, maxRestarts, ...how, requestedBy: 'ann', reason: null });
}

function endFaults(world: World): void {
  world.say('-- all faults end');
  endRefusals(world);
  for (const worker of world.workers) {
    world.thaw(worker);
    if (worker.process.isCutOff) world.cutOff(worker, false);
  }
}
