import type { TypeChanges } from '../../activities/machine-types/patch-vms.ts';
import type { Transition } from '../../decisions/machine-types/transition.ts';
import { ACTION_LABELS, type PowerAction } from '../../decisions/power/action.ts';
import type { PowerOutcome } from '../../decisions/power/outcome.ts';
import type { Action } from './actions.ts';
import { endsOf, timeOf, unended, unfinished, valuesOf, type Event, type History } from './events.ts';

/**
 * Something that was done to VMs of any owner, named by `namespace/name`, or to the templates of these drover pools.
 */
export interface WideAction extends Action {
  pools: string[];
}

/** Input of these activities, combined. */
interface Request {
  vms?: string[];
  pools?: string[];
  transition?: Transition;
  /** Of a run that starts, stops or restarts VMs. */
  action?: PowerAction;
  requestedBy?: string;
  reason?: string | null;
}

/** The activities that change VMs, and the action that each is shown as: `power` as what the request says. */
const ACTS: Record<string, string> = {
  changePower: 'power',
  beginTransitionRestarts: 'restart',
  patchMachineTypes: 'machine type',
  patchPoolTemplates: 'machine type',
};

/** Results of these activities, and of the waits between them. */
interface Result {
  /** VMs that need no wait, and changes that could not be made. */
  outcomes?: { vm: string; end: string; why?: string }[];
  /** Types of VMs and pools that were changed. */
  changes?: TypeChanges[];
  /** VMs that were waited for. */
  settled?: PowerOutcome[];
}

interface Run {
  events: Event[];
  /** The event that ended each activity, by the id of the event that scheduled it. */
  ends: Map<string, Event>;
}

type How = Pick<Action, 'end' | 'why' | 'endedAt'>;

/**
 * Returns what the runs of one workflow that people started did; one action per VM or pool. Expects the
 * histories oldest first.
 */
export function wideActionsOf(workflow: string, histories: History[]): WideAction[] {
  const runs = histories.map(({ events }): Run => ({ events: events ?? [], ends: endsOf(events ?? []) }));
  const all = runs.flatMap(({ events }) => events);
  const settled = Map.groupBy(runs.flatMap(powerIn), ({ vm }) => vm);
  return runs.flatMap(({ events, ends }) => events.flatMap((event) => actionsOfEvent(event, events, ends)));

  function actionsOfEvent(event: Event, events: Event[], ends: Run['ends']): WideAction[] {
    const act = actOf(event);
    if (act === undefined) return [];
    const [request] = valuesOf(event.activityTaskScheduledEventAttributes?.input) as [Request];
    const { transition, vms = [], pools = [] } = request;
    const { requestedBy = null, reason = null } = transition ?? request;
    const action = request.action === undefined ? act : ACTION_LABELS[request.action].verb;
    const isPower = isOfPower(act);
    const types = isPower ? { from: null, to: null } : typesOf(transition);
    const base = {
      time: timeOf(event),
      action,
      ...types,
      requestedBy,
      reason: reason === null ? null : `${action}: ${reason}`,
      workflow,
    };
    const end = ends.get(String(event.eventId));
    return [
      ...vms.map((vm) => ({
        ...base,
        vms: [vm],
        pools: [],
        ...(isPower ? powerOf(vm, base.time) : changeOf(end, events, vm)),
      })),
      ...pools.map((pool) => ({ ...base, vms: [], pools: [pool], ...changeOf(end, events, `pool ${pool}`) })),
    ];
  }

  function powerOf(vm: string, since: string): How {
    const outcome = settled.get(vm)?.find(({ endedAt }) => endedAt >= since);
    return outcome === undefined
      ? { ...unended(all), endedAt: null }
      : { end: outcome.end, why: outcome.why ?? null, endedAt: outcome.endedAt };
  }
}

const actOf = (event: Event): string | undefined =>
  ACTS[event.activityTaskScheduledEventAttributes?.activityType?.name ?? ''];

/** Reports whether the act is one that a wait follows: a start, a stop, or a restart. */
const isOfPower = (act: string | undefined): boolean => act === 'power' || act === 'restart';

/** The types that were asked for. */
function typesOf(transition: Transition | undefined): Pick<Action, 'from' | 'to'> {
  if (transition === undefined) return { from: null, to: null };
  const { scope, to } = transition;
  return scope.undoes === null
    ? { from: scope.glob, to: to ?? 'default' }
    : { from: null, to: `as before ${scope.undoes}` };
}

/** How the change of one VM or pool ended, according to its activity, and what its type was and is. */
function changeOf(end: Event | undefined, events: Event[], key: string): How & Partial<Pick<Action, 'from' | 'to'>> {
  if (!end?.activityTaskCompletedEventAttributes) return { ...unfinished(end, events), endedAt: null };
  const { outcomes, changes } = resultIn(end);
  const other = outcomes?.find(({ vm }) => vm === key);
  const change = changes?.find(({ vms }) => vms.includes(key));
  const types = change === undefined ? {} : { from: change.from ?? 'default', to: change.to ?? 'default' };
  return { end: other?.end ?? 'Done', why: other?.why ?? null, endedAt: timeOf(end), ...types };
}

/**
 * The outcome of a restart, a start or a stop is in the result of the wait after it, or in that of its own activity if
 * nothing waits for it.
 */
function powerIn({ events, ends }: Run): { vm: string; end: string; why?: string; endedAt: string }[] {
  return events.flatMap((event) => {
    const begun = isOfPower(actOf(event)) ? ends.get(String(event.eventId)) : undefined;
    const resultEvent = begun ?? event;
    const told = begun === undefined ? resultIn(event).settled : resultIn(begun).outcomes;
    return (told ?? []).map((outcome) => ({ ...outcome, endedAt: timeOf(resultEvent) }));
  });
}

const resultIn = (event: Event): Result =>
  (valuesOf(event.activityTaskCompletedEventAttributes?.result)[0] as Result | null | undefined) ?? {};
