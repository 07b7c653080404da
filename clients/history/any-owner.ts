import type { Transition } from '../../decisions/machine-types/transition.ts';
import type { RestartOutcome } from '../../decisions/restart-plan.ts';
import type { Action } from './actions.ts';
import { endsOf, timeOf, unended, unfinished, valuesOf, type Event, type History } from './events.ts';

/** Something that was done to VMs of any owner, named by `namespace/name`; or to the templates of these pools of drover's. */
export interface WideAction extends Action {
  pools: string[];
}

/** What such activities are asked for, whichever it is. */
interface Request {
  vms?: string[];
  pools?: string[];
  transition?: Transition;
  askedBy?: string;
  reason?: string | null;
}

/** The activities that change or restart VMs, and what that is called. */
const ACTS: Record<string, string> = {
  beginRestarts: 'restart',
  beginTransitionRestarts: 'restart',
  patchMachineTypes: 'machine type',
  changePools: 'machine type',
};

type Failed = { vm: string; why: string };
interface Outcomes {
  outcomes?: (RestartOutcome | Failed)[];
  settled?: RestartOutcome[];
}

/** What the runs of one restart of VMs, or of one machine type transition, have done, an action a VM or pool; given the oldest first. */
export function wideActionsOf(workflow: string, runs: History[]): WideAction[] {
  const all = runs.flatMap(({ events }) => events ?? []);
  const told = all.flatMap((event) => outcomesIn(event).map((outcome) => ({ ...outcome, at: timeOf(event) })));
  return runs.flatMap(({ events: ofRun }) => {
    const events = ofRun ?? [];
    const ends = endsOf(events);
    return events.flatMap((event): WideAction[] => {
      const { activityType, input } = event.activityTaskScheduledEventAttributes ?? {};
      const action = ACTS[activityType?.name ?? ''];
      if (action === undefined) return [];
      const [request] = valuesOf(input) as [Request];
      const { transition, vms = [], pools = [] } = request;
      const time = timeOf(event);
      const { askedBy = null, reason = null } = transition ?? request;
      const base = { time, action, ...(action === 'restart' ? { from: null, to: null } : typesOf(transition)), askedBy, reason: reason === null ? null : `${action}: ${reason}`, workflow };
      const end = ends.get(String(event.eventId));
      const of = (key: string): Pick<Action, 'end' | 'why' | 'endedAt'> => {
        const outcome = told.find(({ vm, at }) => vm === key && at >= time);
        if (outcome !== undefined) return { end: 'end' in outcome ? outcome.end : 'Failed', why: outcome.why ?? null, endedAt: outcome.at };
        if (action !== 'restart' && end?.activityTaskCompletedEventAttributes) return { end: 'Done', why: null, endedAt: timeOf(end) };
        return { ...(action === 'restart' ? unended(all) : unfinished(end, all)), endedAt: null };
      };
      return [...vms.map((vm) => ({ ...base, vms: [vm], pools: [], ...of(vm) })), ...pools.map((pool) => ({ ...base, vms: [], pools: [pool], ...of(pool) }))];
    });
  });
}

const typesOf = (transition: Transition | undefined): Pick<Action, 'from' | 'to'> =>
  transition === undefined || transition.scope.undoes !== null ? { from: null, to: null } : { from: transition.scope.glob, to: transition.to ?? 'default' };

/** The end of a restart is told by the wait after it, or where it was not waited for, by the restart itself. */
function outcomesIn(event: Event): (RestartOutcome | Failed)[] {
  const [result] = valuesOf(event.activityTaskCompletedEventAttributes?.result) as (Outcomes | null | undefined)[];
  return [...(result?.outcomes ?? []), ...(result?.settled ?? [])];
}
