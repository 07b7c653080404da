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

/** What they, and the waits between them, come back with. */
interface Result {
  /** Of restarts, those that are not waited for; of changes, those that could not be made. */
  outcomes?: (RestartOutcome | { vm: string; why: string })[];
  /** Of restarts that were waited for. */
  settled?: RestartOutcome[];
}

/** What the runs of one restart of VMs, or of one machine type transition, have done, an action a VM or pool; given the oldest first. */
export function wideActionsOf(workflow: string, runs: History[]): WideAction[] {
  const all = runs.flatMap(({ events }) => events ?? []);
  const restarts = all.flatMap((event) => restartsIn(event).map((outcome) => ({ ...outcome, at: timeOf(event) })));
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
      const howOf = (key: string): Pick<Action, 'end' | 'why' | 'endedAt'> => {
        if (action !== 'restart') return changeOf(end, events, key);
        const outcome = restarts.find(({ vm, at }) => vm === key && at >= time);
        return outcome === undefined ? { ...unended(all), endedAt: null } : { end: outcome.end, why: outcome.why ?? null, endedAt: outcome.at };
      };
      return [...vms.map((vm) => ({ ...base, vms: [vm], pools: [], ...howOf(vm) })), ...pools.map((pool) => ({ ...base, vms: [], pools: [pool], ...howOf(pool) }))];
    });
  });
}

const typesOf = (transition: Transition | undefined): Pick<Action, 'from' | 'to'> =>
  transition === undefined || transition.scope.undoes !== null ? { from: null, to: null } : { from: transition.scope.glob, to: transition.to ?? 'default' };

/** How a change of one VM or pool ended, which its activity tells. */
function changeOf(end: Event | undefined, events: Event[], key: string): Pick<Action, 'end' | 'why' | 'endedAt'> {
  if (!end?.activityTaskCompletedEventAttributes) return { ...unfinished(end, events), endedAt: null };
  const failed = resultIn(end).outcomes?.find(({ vm }) => vm === key);
  return { end: failed === undefined ? 'Done' : 'Failed', why: failed?.why ?? null, endedAt: timeOf(end) };
}

/** The end of a restart is told by the wait after it, or where it was not waited for, by the restart itself. */
function restartsIn(event: Event): RestartOutcome[] {
  const { outcomes = [], settled = [] } = resultIn(event);
  return [...outcomes, ...settled].flatMap((outcome) => ('end' in outcome ? [outcome] : []));
}

const resultIn = (event: Event): Result => (valuesOf(event.activityTaskCompletedEventAttributes?.result)[0] as Result | null | undefined) ?? {};
