import type { Stored } from '../../../api/objects.ts';
import { ClusterVirtualMachineOperations, Namespaces, Nodes, VirtualMachineInstances } from '../../../api/resources.ts';
import type { VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { budgetOf, createBudget, labelVm, placeOf, zoneNodes, type Budget } from '../budgets/budgets.ts';
import type { AnyVmGuarantees } from '../budgets/guarantee.ts';
import { APP, BUDGETS, type BudgetHappening, type BudgetScenario } from '../random/budgets.ts';
import { addNode } from '../stories/story.ts';
import { NAMESPACE } from '../world/names.ts';
import type { World } from '../world/world.ts';

const HOUR_MS = 3_600_000;
/** How long a claim that was not used, and a turn that was not taken, are listed. */
const LISTED_MS = 90_000;
/** A namespace with VMs that no pool owns, and nothing else. */
export const BANK = 'bank';
const NAMESPACES = [NAMESPACE, BANK];

/** Three nodes in two zones, VMs in another namespace, and budgets. `lone`: VMs of the first that no pool owns. */
export async function beginBudgets(world: World, budgets: readonly BudgetScenario[], lone: number): Promise<void> {
  addNode(world);
  zoneNodes(world, 2);
  for (const name of NAMESPACES) world.server.create(Namespaces, { metadata: { name, labels: { of: name } } });
  for (let number = 1; number <= 3; number++) {
    await world.people.createVm(`bank-${number}`, { bootMs: 3_000 }, BANK);
    labelVm(world, `bank-${number}`, APP, BANK);
  }
  for (let number = 1; number <= lone; number++) labelVm(world, `lone-${number}`);
  for (const { budget, spec } of budgets) createBudget(world, BUDGETS[budget]!, spec);
}

export function happenToBudgets(world: World, happening: BudgetHappening): void {
  switch (happening.what) {
    case 'budget':
    case 'budget again':
    case 'no budget':
      return changeBudget(world, happening);
    case 'app': {
      const name = `lone-${1 + (happening.lone % 4)}`;
      world.say(`-- ${name} is ${happening.isOn ? '' : 'not '}labelled`);
      if (world.vm(name) !== undefined) labelVm(world, name, happening.isOn ? APP : {});
      return;
    }
    case 'drain': {
      const nodes = world.server.all(Nodes);
      const { name } = nodes[happening.node % nodes.length]!.metadata;
      world.say(`-- ${name} is drained`);
      for (const vmi of world.server.all<VirtualMachineInstance>(VirtualMachineInstances))
        if (vmi.status?.nodeName === name) world.kubevirt.evict(vmi.metadata.name, false);
      return;
    }
    case 'operation': {
      const { action, atOnce, namespace } = happening;
      const namespaces = namespace === null ? {} : { namespaces: [NAMESPACES[namespace]!] };
      world.say(`-- ${action} of all VMs of ${namespace === null ? 'all namespaces' : NAMESPACES[namespace]!}`);
      world.server.create(ClusterVirtualMachineOperations, {
        metadata: { generateName: 'op-' },
        spec: { action, vms: { selector: {} }, atOnce, maxFailures: 2, deadline: '2m', ...namespaces },
      });
    }
  }
}

function changeBudget(world: World, happening: Extract<BudgetHappening, { budget: number }>): void {
  const name = BUDGETS[happening.budget]!;
  const { resource, key } = placeOf(name);
  const isThere = budgetOf(world, name) !== undefined;
  if (happening.what === 'budget' && isThere) return changeSpec(world, name, happening.spec);
  if (isThere) {
    world.say(`-- budget ${name} is deleted`);
    world.server.delete(resource, key);
  }
  if (happening.what !== 'no budget') createBudget(world, name, happening.spec);
}

function changeSpec(world: World, name: string, spec: Budget['spec']): void {
  const { resource, key } = placeOf(name);
  world.say(`-- budget ${name}: ${JSON.stringify(spec)}`);
  world.server.write(resource, key, (before) => ({ ...before, spec }));
}

const existing = (world: World): Budget[] => BUDGETS.flatMap((name) => budgetOf(world, name) ?? []);

/**
 * Gives each budget room for one VM at a time, and ends operations and drains: all must come to its end then. Waits
 * until all workers know the budgets.
 */
export async function easeBudgets(world: World): Promise<void> {
  const open = (): Stored[] =>
    world.server
      .all(ClusterVirtualMachineOperations)
      .filter((one) => (one['status'] as { completionTime?: string } | undefined)?.completionTime === undefined);
  for (const { metadata } of open())
    world.server.write(ClusterVirtualMachineOperations, metadata, (before) => ({
      ...before,
      spec: { ...(before['spec'] as object), aborted: true },
    }));
  for (const { metadata, spec } of existing(world)) {
    const { topology } = spec;
    const eased = { selector: spec.selector, maxUnavailable: 1, ...(topology && { topology }) };
    changeSpec(world, metadata.name, eased);
  }
  for (const { metadata } of world.server.all(Nodes)) world.kubevirt.drain(metadata.name, false);
  if (!(await world.until(() => open().length === 0, HOUR_MS)))
    world.break(`G12: operations do not end: ${JSON.stringify(open().map(({ status }) => status))}`);
  await world.wait(30_000);
}

/** Checks that, in quiet, no claim and no turn is left, and statuses say what there is. */
export async function checkQuiet(world: World, guarantees: AnyVmGuarantees): Promise<void> {
  const wrong = (): string[] =>
    existing(world).flatMap((budget) => {
      const { expected, available, matched, claims = [], waiting = [] } = budget.status ?? {};
      const is = { expected, available, matched, claims: claims.length, waiting: waiting.length };
      const wanted = { ...guarantees.countOf(budget), claims: 0, waiting: 0 };
      const isSo = JSON.stringify(is) === JSON.stringify(wanted);
      return isSo ? [] : [`${budget.metadata.name}: ${JSON.stringify(budget.status)}, not ${JSON.stringify(wanted)}`];
    });
  if (!(await world.until(() => wrong().length === 0, LISTED_MS)))
    world.break(`G50: statuses in quiet are not as they should be: ${wrong().join('; ')}`);
}
