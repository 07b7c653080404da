import type { Done } from '../../activities/owners/types.ts';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import type { HealingEvent } from '../../decisions/healing/events.ts';
import { Unreadable } from '../../decisions/lib/payload-reader.ts';
import type { UpdateOutcome } from '../../decisions/rollout/batch.ts';
import { vmName } from '../../decisions/scaling/vm-names.ts';
import type { healVm } from '../../workflows/healing/heal-vm.ts';
import { record } from '../../workflows/messages.ts';
import type { updateBatch } from '../../workflows/rollout/update-batch.ts';
import { OWNERS } from '../cli/kinds.ts';
import {
  endsOf,
  signalledValue,
  summaryOf,
  timeOf,
  unended,
  unfinished,
  valuesOf,
  type Event,
  type History,
} from './events.ts';

/** Something that drover did to VMs of a pool or replica set, or that a person asked of its rollout or healing. */
export interface Action {
  /** RFC 3339. */
  time: string;
  endedAt: string | null;
  action: string;
  /** Names; empty if the action was about the pool as a whole. */
  vms: string[];
  /** Revisions, or machine types for a transition; null if not applicable or unknown. */
  from: string | null;
  to: string | null;
  /** `drover` for what it does on its own to keep a pool or set as its spec says; null if unknown. */
  requestedBy: string | null;
  /**
   * `InProgress` until the outcome is known, `Queued` before the turn of a batch's VM has come; `Unknown` if it never
   * will be known.
   */
  end: string;
  /** Why it ended so, or the reason that a person gave. */
  why: string | null;
  /** Why it was done, as the Web UI shows it. */
  reason: string | null;
  /** Workflow id, for the details in the Web UI. */
  workflow: string;
}

/**
 * Returns what one run of a workflow did, if it is the workflow of a pool, of a replica set or of a batch, and what
 * people asked of it. `healsOf` tells of attempts to heal VMs.
 */
export function actionsOf(workflow: string, { events }: History): Action[] {
  const all = events ?? [];
  const type = all[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name;
  if (OWNERS.some(({ workflowType }) => workflowType === type))
    return [...stepsOf(workflow, all), ...askedOf(workflow, all)];
  if (type === 'healVm') return askedOf(workflow, all);
  return type === 'updateBatch' ? batchOf(workflow, all) : [];
}

/** Recorded as asking for VMs to be created, removed and healed: no person asks for each of them. */
const ITSELF = 'drover';

type Key = Parameters<PoolActivities['deleteVms']>[0];

/** The activities by which workflows of pools and replica sets change VMs, and what their arguments say. */
const STEPS: Record<string, (args: unknown[]) => Pick<Action, 'action' | 'vms' | 'to'>> = {
  createVms: ([key, numbers, revision]) => ({
    action: 'create',
    vms: (numbers as number[]).map((number) => vmName((key as Key).name, number)),
    // The first drover passed no revision: it only knew the template's.
    to: typeof revision === 'string' ? revision : null,
  }),
  createReplicas: ([, names]) => ({ action: 'create', vms: names as string[], to: null }),
  adoptVms: ([, vms]) => ({ action: 'adopt', vms: namesOf(vms), to: null }),
  deleteVms: ([, vms]) => ({ action: 'delete', vms: namesOf(vms), to: null }),
  haltVms: ([, vms]) => ({ action: 'halt', vms: namesOf(vms), to: null }),
  releaseVms: ([, vms]) => ({ action: 'release', vms: namesOf(vms), to: null }),
  promoteStandbyVms: ([, vms]) => ({ action: 'promote standby', vms: namesOf(vms), to: null }),
};

const namesOf = (vms: unknown): string[] => (vms as { name: string }[]).map(({ name }) => name);

function stepsOf(workflow: string, events: Event[]): Action[] {
  const ends = endsOf(events);
  return events.flatMap((event) => {
    const { activityType, input } = event.activityTaskScheduledEventAttributes ?? {};
    const step = STEPS[activityType?.name ?? ''];
    if (step === undefined) return [];
    const what = step(valuesOf(input));
    const { vms } = what;
    const end = ends.get(String(event.eventId));
    const reason = summaryOf(event);
    const base = {
      time: timeOf(event),
      endedAt: end === undefined ? null : timeOf(end),
      from: null,
      requestedBy: ITSELF,
      reason,
      workflow,
      ...what,
    };
    return stepEnds(end, events, vms).map((how) => ({ ...base, ...how }));
  });
}

type StepEnd = Pick<Action, 'vms' | 'end' | 'why'>;

/** How a step ended: differently for VMs that it left alone. */
function stepEnds(event: Event | undefined, events: Event[], vms: string[]): StepEnd[] {
  const completed = event?.activityTaskCompletedEventAttributes;
  if (completed === undefined || completed === null) return [{ vms, ...unfinished(event, events) }];
  const [{ count, refused, nameConflicts, notWanted }] = valuesOf(completed.result) as [Done];
  const others = vms.filter((name) => !nameConflicts.includes(name) && !notWanted.includes(name));
  const how =
    refused === null
      ? { end: 'Done', why: null }
      : { end: 'Refused', why: `${count} of ${vms.length} done: ${refused.message}` };
  return [
    { vms: others, ...how },
    { vms: nameConflicts, end: 'Taken', why: 'another owner has a VM of this name' },
    { vms: notWanted, end: 'NotWanted', why: 'no longer wanted when its turn came' },
  ].filter(({ vms }) => vms.length > 0);
}

/** People's signals, and the `drover` subcommand for each. */
const ASKED: Record<string, string> = {
  pause: 'pause',
  resume: 'resume',
  abort: 'abort',
  promote: 'promote',
  healPause: 'heal pause',
  healResume: 'heal resume',
  healNow: 'heal now',
  healSkip: 'heal skip',
};

/**
 * Returns what people asked for, with `drover` or in the Web UI. Omits signals from other workflows: people asked
 * those.
 */
function askedOf(workflow: string, events: Event[]): Action[] {
  const healed = attemptIn(events)?.sick.name;
  return events.flatMap((event) => {
    const { signalName, input, externalWorkflowExecution } = event.workflowExecutionSignaledEventAttributes ?? {};
    const name = ASKED[signalName ?? ''];
    if (externalWorkflowExecution) return [];
    if (signalName === record.name) return recordedIn(workflow, event);
    if (name === undefined) return [];
    const asked = signalledValue(input) as
      | { by?: string; why?: string; full?: boolean; vm?: string }
      | null
      | undefined;
    const action = asked?.full === true ? `${name} --full` : name;
    const vm = healed ?? asked?.vm;
    const vms = vm === undefined ? [] : [vm];
    const time = timeOf(event);
    const who = { requestedBy: asked?.by ?? null, why: asked?.why ?? null };
    return [{ time, endedAt: time, action, vms, from: null, to: null, end: 'Asked', reason: null, workflow, ...who }];
  });
}

/** What a command has recorded; nothing if somebody else has sent something unreadable. */
function recordedIn(workflow: string, event: Event): Action[] {
  try {
    const said = signalledValue(event.workflowExecutionSignaledEventAttributes?.input);
    const { action, vms, by, from, to, why = null } = record.read(said, record.name);
    const [time, words] = [timeOf(event), (count?: number) => (count === undefined ? null : `${count} VMs`)];
    const how = { from: words(from), to: words(to), requestedBy: by, end: 'Done', why, reason: null };
    return [{ time, endedAt: time, action, vms, workflow, ...how }];
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return [];
  }
}

type BatchInput = Parameters<typeof updateBatch>[0];

/** One action for each VM that the batch has begun with: each has its own outcome. */
function batchOf(workflow: string, events: Event[]): Action[] {
  const started = events[0]!.workflowExecutionStartedEventAttributes!;
  const [{ batch, requestedBy, reason }] = valuesOf(started.input) as [BatchInput];
  const ends = new Map<string, UpdateOutcome & { at: string }>();
  for (const event of events) {
    for (const outcome of outcomesIn(event))
      if (!ends.has(outcome.vm)) ends.set(outcome.vm, { ...outcome, at: timeOf(event) });
  }
  const time = timeOf(events[0]!);
  // The next run of the workflow has the others.
  const goesOn = events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes != null;
  const begun = batch.vms.filter(({ name }) => (goesOn ? ends.has(name) : true) && ends.get(name)?.end !== 'NotBegun');
  return begun.map(({ name, act, from }) => {
    const ended = ends.get(name);
    const how = ended === undefined ? unended(events) : { end: ended.end, why: ended.why ?? null };
    return {
      time,
      endedAt: ended?.at ?? null,
      action: act,
      vms: [name],
      from,
      to: batch.revision,
      requestedBy,
      reason,
      workflow,
      ...how,
    };
  });
}

type HealVmInput = Parameters<typeof healVm>[0];
type Attempt = HealVmInput['attempt'];

/** The attempt that a `healVm` workflow was started for; undefined for other workflows. */
function attemptIn([first]: Event[]): Attempt | undefined {
  const started = first?.workflowExecutionStartedEventAttributes;
  if (started?.workflowType?.name !== 'healVm') return undefined;
  return (valuesOf(started.input)[0] as HealVmInput).attempt;
}

/** Returns the attempts to heal VMs, given the runs of all workflows of a pool: each shows how the new VM did. */
export function healsOf(runs: readonly { workflowId: string; history: History }[]): Action[] {
  const all = runs.map(({ workflowId, history }) => ({ workflowId, events: history.events ?? [] }));
  const ends = new Map(all.flatMap(({ events }) => events.flatMap(cycleEndIn)));
  const attempts = all.flatMap(({ workflowId, events }) => {
    const attempt = attemptIn(events);
    return attempt === undefined ? [] : [{ workflowId, events, attempt }];
  });
  const starts = new Map(
    attempts.map(({ attempt, events }) => [namespacedName(attempt, attempt.sick.attempt), { attempt, events }]),
  );
  return attempts.map(({ workflowId, events, attempt }) => {
    const next = starts.get(namespacedName(attempt, attempt.sick.attempt + 1));
    const { name, why } = attempt.sick;
    const removal = events.find(
      ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name === 'removeSickVm',
    );
    return {
      time: timeOf(removal ?? events[0]!),
      action: 'heal',
      vms: [name],
      from: null,
      to: null,
      requestedBy: ITSELF,
      reason: `heal ${name}: ${why}`,
      workflow: workflowId,
      ...(next === undefined
        ? (ends.get(namespacedName(attempt)) ?? attemptEnd(events))
        : { end: 'SickAgain', why: next.attempt.sick.why, endedAt: timeOf(next.events[0]!) }),
    };
  });
}

type How = Pick<Action, 'end' | 'why' | 'endedAt'>;

/** Identifies a cycle, or one attempt of it. */
const namespacedName = ({ sick, startedAt }: Attempt, attempt?: number): string =>
  `${sick.name} ${startedAt} ${attempt ?? ''}`;

/** The end of a cycle: the pool's workflow passes it on with the Event about it. */
function cycleEndIn(event: Event): [string, How][] {
  const { activityType, input } = event.activityTaskScheduledEventAttributes ?? {};
  if (activityType?.name !== 'recordHealing') return [];
  const [, { ended }] = valuesOf(input) as [unknown, HealingEvent];
  if (ended === undefined) return [];
  const { vm, startedAt, end, why } = ended;
  return [[`${vm} ${startedAt} `, { end, why, endedAt: timeOf(event) }]];
}

/** How the last attempt of a cycle ended if nothing else is known: its new VM may still be watched. */
function attemptEnd(events: Event[]): How {
  const last = events.at(-1)!;
  const isOver = last.workflowExecutionCompletedEventAttributes != null;
  const how = isOver ? { end: 'InProgress', why: null } : unended(events);
  return { ...how, endedAt: how.end === 'InProgress' ? null : timeOf(last) };
}

/** Each activity of a batch returns the outcomes that it has seen, and the workflow returns all of them. */
function outcomesIn(event: Event): UpdateOutcome[] {
  const result =
    event.activityTaskCompletedEventAttributes?.result ?? event.workflowExecutionCompletedEventAttributes?.result;
  const [value] = valuesOf(result) as (UpdateOutcome[] | { outcomes?: UpdateOutcome[] } | undefined)[];
  return Array.isArray(value) ? value : (value?.outcomes ?? []);
}
