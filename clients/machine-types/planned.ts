import { globMatcher } from '../../decisions/lib/glob.ts';
import type { Transition, TransitionScope } from '../../decisions/machine-types/transition.ts';
import { formatVms } from '../../decisions/runs/report.ts';
import { isRecordOf } from '../../decisions/views/annotations/transition-record.ts';
import { Failure } from '../cli/failure.ts';
import { printNote, table } from '../cli/print.ts';
import { noRecordOf } from '../operations/find-operation.ts';
import type { Session } from '../session/session.ts';
import { planOf, type PlanOptions, type TransitionPlanned } from './plan.ts';
import { noNamespace, readInventory, type VmInventory } from './read.ts';
import { othersRunning, type OthersRunning } from './transitions.ts';
import { TypeTally, type TypeInUse } from './types-in-use.ts';

/** A plan, and the other operations that continue. */
export interface Planned {
  plan: TransitionPlanned;
  others: OthersRunning;
}

/** Plans a transition. If there is nothing to do, notes which types there are, and throws a `Failure`. */
export async function plannedOf(
  session: Session,
  transition: Transition,
  { withDryRuns }: Pick<PlanOptions, 'withDryRuns'>,
): Promise<Planned> {
  const kube = await session.kube();
  const fleet = await readInventory(kube, transition.scope.namespaces);
  const unknown = unknownNames(fleet, transition.scope);
  if (unknown !== null) throw unknown;
  const others = await othersRunning(kube, transition.scope.namespaces);
  const plan = await planOf(kube, fleet, transition, { withDryRuns, others });
  if (plan.items.length > 0) return { plan, others };
  throw (await noNamespace(kube, transition.scope.namespaces)) ?? nothingMatched(fleet, transition.scope);
}

/** Empty for all namespaces (null). */
const within = (namespaces: readonly string[] | null): string =>
  namespaces === null ? '' : ` in namespace ${namespaces.join(', ')}`;

/** A VM given by name must exist: otherwise the name is mistyped. */
function unknownNames({ vms }: VmInventory, { names, namespaces }: TransitionScope): Failure | null {
  const known = new Set(vms.flatMap(({ namespace, name }) => [name, `${namespace}/${name}`]));
  const unknown = [...new Set(names)].filter((name) => !known.has(name));
  return unknown.length === 0 ? null : new Failure(`there is no VM ${unknown.join(', nor ')}${within(namespaces)}`);
}

function typesOf({ vms, vmis, nodes }: VmInventory): TypeInUse[] {
  const tally = new TypeTally();
  for (const vm of vms) tally.vm(vm);
  for (const vmi of vmis) tally.vmi(vmi);
  return tally.types(nodes);
}

function nothingMatched(fleet: VmInventory, { glob, namespaces, undoes }: TransitionScope): Failure {
  const where = within(namespaces);
  if (undoes !== null) {
    const isKnown = fleet.vms.some(({ transition }) => isRecordOf(transition, undoes));
    return isKnown
      ? new Failure(`no VM${where} has anything left that ${undoes} has changed`)
      : noRecordOf(where, undoes);
  }
  const types = typesOf(fleet);
  if (types.length === 0) return new Failure(`no VM${where} has a machine type`);
  const matches = globMatcher(glob);
  const such = types.filter(({ type }) => matches(type));
  if (such.length > 0) {
    const count = such.reduce((sum, { vms, vmis }) => sum + Math.max(vms, vmis), 0);
    return new Failure(
      `none of the VMs that were chosen${where} has a machine type that matches ${glob}; ${formatVms(count)} that were not chosen ${count === 1 ? 'has' : 'have'} one`,
    );
  }
  printNote(
    table(
      ['TYPE', 'VMS', 'VMIS'],
      types.map(({ type, vms, vmis }) => [type, vms, vmis]),
    ).join('\n'),
  );
  return new Failure(`no VM${where} has a machine type that matches ${glob}`);
}
