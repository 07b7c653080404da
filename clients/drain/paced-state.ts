import { listed } from '../../api/lib/listed.ts';
import { conditionOf } from '../../api/objects.ts';
import { asks, nameBudget, withNames } from '../../decisions/disruption-budget/any-vms/allowed.ts';
import { neverHasRoom } from '../../decisions/disruption-budget/any-vms/budget-status.ts';
import { isFree } from '../../decisions/disruption-budget/any-vms/counts.ts';
import type { StoredBudget } from '../../decisions/disruption-budget/stored-budget.ts';
import { operationName } from '../../decisions/operations/ref.ts';
import { EXTERNAL } from '../../decisions/template/template.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';

/** What drover has to know to move VMs off a node within disruption budgets. */
export interface Pacing {
  /** The budgets that select the VM. */
  budgetsOf: (vm: VmView) => readonly StoredBudget[];
  /** The operations by which VMs leave the node, the newest first. */
  operations: readonly StoredOperation[];
  /** Whether VMs are to wait for no budget but that of their pool. */
  pastBudgets: boolean;
  /** Milliseconds since the epoch. */
  now: number;
}

export type Act = 'Migrate' | 'Restart';

/** The fields of a report that are about a VM under budgets. */
interface PacedState {
  state: 'NotAsked' | 'ShutDown' | 'Evacuating' | 'Waiting' | 'Blocked';
  message: string;
  isKept?: boolean;
  act?: Act;
}

/** How long after an operation that has failed on a VM another one is made for it, in milliseconds. */
const AGAIN_MS = 300_000;

/**
 * Returns what happens to a VM that disruption budgets select: an eviction asks no budget, so drover moves the VM by an
 * operation. Null for a VM that is evicted.
 */
export function pacedState(
  vm: VmView,
  vmi: VmiView,
  act: Act,
  { budgetsOf, operations, pastBudgets, now }: Pacing,
): PacedState | null {
  // One that may wait for a budget for ever is of no use to a drain that does not.
  const mayWait = ({ spec, status }: StoredOperation): boolean =>
    pastBudgets && spec.pastBudgets !== true && status?.inProgress?.includes(vm.name) !== true;
  const operation = operations.find(
    (one) => one.metadata.namespace === vm.namespace && one.spec.vms.names?.includes(vm.name) === true && !mayWait(one),
  );
  const begun = operation === undefined ? null : stateIn(operation, vm.name, now);
  if (begun !== null) return { ...begun, message: withNames(begun.message, budgetsOf(vm)) };
  // KubeVirt moves it already.
  const isMoved = vmi.evictionStrategy !== EXTERNAL && vmi.evacuationNode === vmi.node;
  if (vmi.migration !== null || isMoved) return null;
  const budgets = budgetsAsked(vm, vmi, { budgetsOf, now });
  if (budgets.length === 0) return null;
  const within = `${pastBudgets ? 'past' : 'within'} ${listed(budgets.map(nameBudget))}`;
  const never = pastBudgets ? null : whyNever(budgets, act);
  if (never !== null) return kept('Blocked', never);
  return act === 'Migrate'
    ? { state: 'NotAsked', message: `will be migrated ${within}`, act }
    : { state: 'ShutDown', message: `will be shut down, and started elsewhere, ${within}`, act };
}

/** The budgets that a drain asks for the VM: none if nothing is lost with it. */
export const budgetsAsked = (vm: VmView, vmi: VmiView, { budgetsOf, now }: Pick<Pacing, 'budgetsOf' | 'now'>) =>
  isFree(vm, vmi) ? [] : budgetsOf(vm).filter((budget) => asks(budget, 'Drain', now));

/** Says which of these budgets, which a drain asks, can never have room for this; null if none of them. */
export function whyNever(budgets: readonly StoredBudget[], act: Act): string | null {
  const never = budgets.find((budget) => neverLets(budget, act));
  return never === undefined ? null : `stays: ${nameBudget(never)} never has room`;
}

/** Whether no VM may go down, or migrate, even if all that should run are available. */
function neverLets(budget: StoredBudget, act: Act): boolean {
  const { spec } = budget;
  if (act === 'Migrate' && spec.maxMigrating !== undefined) return spec.maxMigrating === 0;
  return neverHasRoom(budget, { expected: budget.status?.expected ?? 0 });
}

/** How far the operation is with the VM; null if it does no more to it, and another one may be made. */
function stateIn(operation: StoredOperation, vm: string, now: number): PacedState | null {
  const { metadata, spec, status = {} } = operation;
  const { inProgress = [], waits = [] } = status;
  const wait = waits.find(({ names }) => names?.includes(vm)) ?? waits.find(({ vms }) => vms === undefined);
  const waitsFor = wait?.message ?? `operation ${operationName(metadata)} has its turn`;
  const end = endIn(operation, vm);
  if (end !== null) return end.at + AGAIN_MS > now ? kept('Waiting', `waits to be tried again: ${end.message}`) : null;
  if (inProgress.includes(vm))
    return kept('Evacuating', `is being ${spec.action === 'Migrate' ? 'migrated' : 'restarted'}`);
  return wait?.excluded === true ? kept('Blocked', `stays: ${waitsFor}`) : kept('Waiting', `waits: ${waitsFor}`);
}

const kept = (state: PacedState['state'], message: string): PacedState => ({ state, message, isKept: true });

/** How the operation, or its part for the VM, has ended; null if it continues. */
function endIn({ metadata, status = {} }: StoredOperation, vm: string): { message: string; at: number } | null {
  const { failures = [], completionTime } = status;
  const failure = failures.find((one) => one.vm === vm)?.message;
  if (failure === undefined && completionTime === undefined) return null;
  const message = failure ?? conditionOf(status, 'Progressing')?.message ?? 'it has ended';
  return {
    message: `operation ${operationName(metadata)}: ${message}`,
    at: Date.parse(completionTime ?? metadata.creationTimestamp),
  };
}
