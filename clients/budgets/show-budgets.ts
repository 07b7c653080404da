import { countsMigrations } from '../../decisions/disruption-budget/any-vms/allowed.ts';
import { countsOf } from '../../decisions/disruption-budget/any-vms/counts.ts';
import { budgetResource, type StoredBudget } from '../../decisions/disruption-budget/stored-budget.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { NotThere } from '../cli/failure.ts';
import { BUDGETS } from '../cli/kinds.ts';
import { labelOf, print, printNote, printObjects, table, type DataFormat } from '../cli/print.ts';
import { namedTargetsOf } from '../cli/targets.ts';
import { listBudgets, vmsOf } from '../operations/read-budgets.ts';
import type { Work } from '../session/session.ts';
import { seenVm } from '../view/vm-state.ts';
import { BUDGET_HEADERS, budgetLines, budgetRow, type DownVm } from './budget-lines.ts';

interface Flags {
  allNamespaces?: boolean;
  output?: DataFormat | 'name';
}

/** Lists budgets, or tells what takes the room of those with the name, by the rights of the user. */
export const showBudgets: Work<Flags> = async (session, { allNamespaces, output }, name?: string) => {
  const kube = await session.kube();
  const all = await listBudgets(kube, allNamespaces === true ? undefined : await session.namespace());
  const budgets = name === undefined ? all : namedAmong(all, name);
  if (output === 'json' || output === 'yaml')
    return printObjects(budgets, output, { isOne: name !== undefined && budgets.length === 1 });
  if (output === 'name')
    return budgets.forEach(({ metadata }) => print(labelOf(budgetResource(metadata), metadata.name)));
  const now = Date.now();
  if (name !== undefined) for (const budget of budgets) print(budgetLines(budget, await downVms(kube, budget), now));
  else if (budgets.length > 0)
    print(
      table(
        BUDGET_HEADERS,
        budgets.map((budget) => budgetRow(budget, now)),
      ),
    );
  else printNote('there is no disruption budget');
};

/** Throws `NotThere` or `UsageError`. */
function namedAmong(budgets: readonly StoredBudget[], arg: string): StoredBudget[] {
  const { kind, names } = arg.includes('/') ? namedTargetsOf([arg], BUDGETS) : { kind: undefined, names: [arg] };
  const named = budgets.filter(
    ({ metadata }) =>
      names.includes(metadata.name) && (kind?.resource ?? budgetResource(metadata)) === budgetResource(metadata),
  );
  if (named.length > 0) return named;
  throw new NotThere(`there is no disruption budget ${arg}: \`drover budgets -A\` lists all`);
}

/** Returns the VMs of the budget that should run and are not available; undefined if the user may not list VMs. */
async function downVms(kube: KubeClient, budget: StoredBudget): Promise<DownVm[] | undefined> {
  const vms = await vmsOf(kube, budget);
  return vms?.flatMap(({ vm, vmi }): DownVm[] => {
    const { expected, available } = countsOf(vm, vmi, countsMigrations(budget.spec));
    if (expected <= available) return [];
    const { wait } = seenVm(vm, vmi);
    return [{ name: `${vm.namespace}/${vm.name}`, since: wait?.since ?? null, why: wait?.sentence ?? '' }];
  });
}
