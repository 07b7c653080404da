import type { BudgetSpec, BudgetStatus } from '../../../api/budgets/budget.ts';
import type { Stored } from '../../../api/objects.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  Nodes,
  VirtualMachineDisruptionBudgets,
  VirtualMachines,
} from '../../../api/resources.ts';
import { isReady } from '../facts.ts';
import type { Shape } from '../pools.ts';
import { APP, ZONE } from '../random/budgets.ts';
import { NAMESPACE } from '../world/names.ts';
import type { World } from '../world/world.ts';

export type Budget = Stored & { spec: BudgetSpec; status?: BudgetStatus };

/** Where the budget is: the name of a cluster-wide one begins with `all`, of one of that namespace with `bank`. */
export const placeOf = (name: string) =>
  name.startsWith('all')
    ? { resource: ClusterVirtualMachineDisruptionBudgets, key: { name } }
    : {
        resource: VirtualMachineDisruptionBudgets,
        key: { namespace: name.startsWith('bank') ? 'bank' : NAMESPACE, name },
      };

/** Creates a budget over the VMs with that label. */
export function createBudget(world: World, name: string, spec: Partial<BudgetSpec> = { maxUnavailable: 1 }): Budget {
  const { resource, key } = placeOf(name);
  world.say(`-- budget ${name}: ${JSON.stringify(spec)}`);
  return world.server.create(resource, {
    metadata: { ...key },
    spec: { selector: { matchLabels: APP }, ...spec },
  }) as Budget;
}

export function budgetOf(world: World, name: string): Budget | undefined {
  const { resource, key } = placeOf(name);
  return world.server.find(resource, key) as Budget | undefined;
}

export const claimsOf = (world: World, name: string): string[] =>
  (budgetOf(world, name)?.status?.claims ?? []).map(({ vm }) => vm);

/** Gives the VM these labels, and no others. */
export function labelVm(
  world: World,
  name: string,
  labels: Record<string, string> = APP,
  namespace: string = NAMESPACE,
): void {
  world.server.write(VirtualMachines, { namespace, name }, (vm) => ({ ...vm, metadata: { ...vm.metadata, labels } }));
}

/** Puts the nodes into so many zones, one after the other. */
export function zoneNodes(world: World, zones = Infinity): void {
  for (const [index, { metadata }] of world.server.all(Nodes).entries())
    world.server.write(Nodes, { name: metadata.name }, (node) => ({
      ...node,
      metadata: { ...node.metadata, labels: { ...node.metadata.labels, [ZONE]: `zone-${index % zones}` } },
    }));
}

/** Creates VMs with that label that no pool has, and waits until they are ready. */
export async function createVms(world: World, names: readonly string[], shape: Shape = {}): Promise<void> {
  for (const name of names) {
    await world.people.createVm(name, shape);
    labelVm(world, name);
  }
  const areReady = (): boolean => names.every((name) => isReady(world.vmi(name)));
  if (!(await world.until(areReady, 120_000))) world.break('the VMs do not come up');
  await world.wait(1_000);
}
