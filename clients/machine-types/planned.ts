import { globMatcher } from '../../decisions/machine-types/glob.ts';
import { nearest } from '../../decisions/machine-types/machine-type.ts';
import type { Transition, TransitionScope } from '../../decisions/machine-types/transition.ts';
import { TypeTally, type TypeInUse } from '../../decisions/machine-types/types-in-use.ts';
import { Failure } from '../failure.ts';
import { note, table } from '../output.ts';
import type { Session } from '../session.ts';
import { othersRunning } from './others.ts';
import { planOf, type PlanOptions, type TransitionPlanned } from './plan.ts';
import { readFleet, type ReadFleet } from './read.ts';
import { vmsInWords } from './words.ts';

const NEAREST_SHOWN = 3;

/** What a transition would do now. Where that is nothing, says which types there are, and throws a `Failure`. */
export async function plannedOf(session: Session, transition: Transition, { asksServer }: Pick<PlanOptions, 'asksServer'>): Promise<TransitionPlanned> {
  const kube = await session.kube();
  const fleet = await readFleet(kube, transition.scope.namespaces);
  const others = await othersRunning(session, fleet.vms);
  const plan = await planOf(kube, fleet, transition, { asksServer, cluster: session.cluster, others });
  if (plan.items.length > 0) return plan;
  throw nothingMatched(typesOf(fleet), transition.scope);
}

function typesOf({ vms, vmis, nodes }: ReadFleet): TypeInUse[] {
  const tally = new TypeTally();
  for (const vm of vms) tally.vm(vm);
  for (const vmi of vmis) tally.guest(vmi);
  return tally.types(nodes);
}

function nothingMatched(types: TypeInUse[], { glob, namespaces, undoes }: TransitionScope): Failure {
  const where = namespaces === null ? '' : ` in namespace ${namespaces.join(', ')}`;
  if (undoes !== null) return new Failure(`no VM${where} has anything left that ${undoes} has changed`);
  if (types.length === 0) return new Failure(`no VM${where} has a machine type`);
  const matches = globMatcher(glob);
  const such = types.filter(({ type }) => matches(type));
  if (such.length > 0) {
    const count = such.reduce((sum, { vms, guests }) => sum + Math.max(vms, guests), 0);
    return new Failure(`none of the VMs that were chosen${where} has a machine type that matches ${glob}; ${vmsInWords(count)} that were not chosen ${count === 1 ? 'has' : 'have'} one`);
  }
  note(table(['TYPE', 'VMS', 'GUESTS'], types.map(({ type, vms, guests }) => [type, vms, guests])).join('\n'));
  const near = nearest(glob, types.map(({ type }) => type)).slice(0, NEAREST_SHOWN);
  return new Failure(`no VM${where} has a machine type that matches ${glob}${near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`}`);
}
