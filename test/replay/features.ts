import { typeOf, type History, type HistoryEvent } from './histories.ts';

/** What one end of an activity, a child or a signal is called, by the type of its event. */
const ENDS: Record<string, string> = {
  ACTIVITY_TASK_FAILED: 'failed',
  ACTIVITY_TASK_TIMED_OUT: 'timed out',
  ACTIVITY_TASK_CANCELED: 'canceled',
  CHILD_WORKFLOW_EXECUTION_FAILED: 'failed',
  CHILD_WORKFLOW_EXECUTION_CANCELED: 'canceled',
  CHILD_WORKFLOW_EXECUTION_TERMINATED: 'terminated',
  CHILD_WORKFLOW_EXECUTION_COMPLETED: 'completed',
  START_CHILD_WORKFLOW_EXECUTION_FAILED: 'could not be started',
};
/** Events that say something by themselves. */
const TOLD: Record<string, string> = {
  TIMER_FIRED: 'a timer fires',
  TIMER_CANCELED: 'a timer is canceled',
  WORKFLOW_TASK_FAILED: 'a workflow task fails',
  WORKFLOW_TASK_TIMED_OUT: 'a workflow task times out',
  WORKFLOW_EXECUTION_CONTINUED_AS_NEW: 'continues as new',
  WORKFLOW_EXECUTION_COMPLETED: 'completes',
  WORKFLOW_EXECUTION_FAILED: 'fails',
  WORKFLOW_EXECUTION_CANCELED: 'ends canceled',
  WORKFLOW_EXECUTION_CANCEL_REQUESTED: 'is asked to cancel',
  WORKFLOW_EXECUTION_TERMINATED: 'is terminated',
  SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED: 'signals a workflow that is gone',
  SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED: 'signals another workflow',
  UPSERT_WORKFLOW_SEARCH_ATTRIBUTES: 'sets search attributes',
};

export interface Features {
  /** What happens in the history, such as `pool: deleteVms failed`. */
  events: Set<string>;
  /** Which commands a workflow task gives together. */
  tasks: Set<string>;
}

/** Returns what a history shows of the code that made it: histories that show the same need not all be kept. */
export function featuresOf(history: History): Features {
  const type = typeOf(history);
  const events = new Set<string>();
  const byTask = new Map<string, string[]>();
  const begun = new Map<string, string>();
  for (const event of history.events) {
    const kind = event.eventType.replace('EVENT_TYPE_', '');
    const attributes = attributesOf(event);
    const name = nameOf(event);
    if (name !== undefined) {
      begun.set(event.eventId, name);
      events.add(`${type}: ${name}`);
    }
    const of = begun.get((attributes['scheduledEventId'] ?? attributes['initiatedEventId'] ?? '') as string);
    if (kind in ENDS && of !== undefined) events.add(`${type}: ${of} ${ENDS[kind]}`);
    if (kind in TOLD) events.add(`${type}: ${TOLD[kind]}`);
    for (const carried of carriedIn(event)) events.add(`${type}: begins with ${carried}`);
    const task = attributes['workflowTaskCompletedEventId'];
    if (typeof task === 'string') byTask.set(task, [...(byTask.get(task) ?? []), name ?? kind]);
  }
  const together = [...byTask.values()].map((all) => `${type}: ${[...new Set(all)].toSorted().join(' + ')}`);
  return { events, tasks: new Set(together) };
}

function attributesOf(event: HistoryEvent): Record<string, unknown> {
  const key = Object.keys(event).find((one) => one.endsWith('EventAttributes'));
  return key === undefined ? {} : (event[key] as Record<string, unknown>);
}

/** Names the activity, child or signal that an event begins. */
function nameOf(event: HistoryEvent): string | undefined {
  const signal = event.workflowExecutionSignaledEventAttributes?.signalName;
  const child = event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowType.name;
  if (signal !== undefined) return `signal ${signal}`;
  if (child !== undefined) return `child ${child}`;
  return event.activityTaskScheduledEventAttributes?.activityType.name ?? markerOf(event);
}

/** Names the local activity, or the patch, that a marker is of. */
function markerOf({ markerRecordedEventAttributes: marker }: HistoryEvent): string | undefined {
  if (marker === undefined) return undefined;
  const details = Object.values(marker.details ?? {}).flatMap(({ payloads = [] }) => payloads.map(decoded));
  const of = details.find((one): one is { activity_type: string } => isObject(one) && 'activity_type' in one);
  return `${of?.activity_type ?? marker.markerName}${marker.failure === undefined ? '' : ' failed'}`;
}

/** Yields the fields that a run takes over from the one before it, unless they say nothing. */
function* carriedIn({ workflowExecutionStartedEventAttributes: started }: HistoryEvent): Generator<string> {
  if (!started?.continuedExecutionRunId) return;
  for (const payload of started.input?.payloads ?? []) {
    const value = decoded(payload);
    if (!isObject(value)) continue;
    const { carried, state } = value as { carried?: unknown; state?: unknown };
    for (const [field, one] of Object.entries([carried, state].find(isObject) ?? value))
      if (!saysNothing(one)) yield `carried ${field}`;
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const saysNothing = (value: unknown): boolean =>
  value === null || value === false || (isObject(value) && Object.values(value).every(saysNothing));

function decoded({ data }: { data?: string }): unknown {
  try {
    return JSON.parse(Buffer.from(data ?? '', 'base64').toString());
  } catch {
    return undefined;
  }
}
