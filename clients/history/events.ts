import type { WorkflowHandle } from '@temporalio/client';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';

export type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
export type Event = NonNullable<History['events']>[number];
type Payloads = { payloads?: Payload[] | null } | null | undefined;

/** How an activity without a result ended; without an event, it has not ended yet. */
export function unfinished(event: Event | undefined, events: Event[]): { end: string; why: string | null } {
  const failed = event?.activityTaskFailedEventAttributes;
  if (failed) return { end: 'Failed', why: failed.failure?.message ?? null };
  if (event?.activityTaskTimedOutEventAttributes) return { end: 'TimedOut', why: null };
  if (event?.activityTaskCanceledEventAttributes) return { end: 'Canceled', why: null };
  return unended(events);
}

/** For what has no end event in a run: in flight while the run goes on, else unknown. */
export function unended(events: Event[]): { end: string; why: string | null } {
  const last = events.at(-1);
  if (last?.workflowExecutionTerminatedEventAttributes) return { end: 'Unknown', why: 'its workflow was terminated' };
  if (last?.workflowExecutionFailedEventAttributes) return { end: 'Unknown', why: 'its workflow failed' };
  if (last?.workflowExecutionCanceledEventAttributes) return { end: 'Unknown', why: 'its workflow was canceled' };
  if (last?.workflowExecutionTimedOutEventAttributes) return { end: 'Unknown', why: 'its workflow took too long' };
  return { end: 'InProgress', why: null };
}

/** The event that ended each activity, by the id of the event that scheduled it. */
export function endsOf(events: Event[]): Map<string, Event> {
  return new Map(
    events.flatMap((event): [string, Event][] => {
      const attributes =
        event.activityTaskCompletedEventAttributes ??
        event.activityTaskFailedEventAttributes ??
        event.activityTaskTimedOutEventAttributes ??
        event.activityTaskCanceledEventAttributes;
      return attributes ? [[String(attributes.scheduledEventId), event]] : [];
    }),
  );
}

export const valuesOf = (payloads: Payloads): unknown[] =>
  (payloads?.payloads ?? []).map((payload) => defaultPayloadConverter.fromPayload(payload));

/** Anybody may send a signal with any payload: returns undefined if it can't be decoded. */
export function signalledValue(payloads: Payloads): unknown {
  try {
    return valuesOf(payloads)[0];
  } catch {
    return undefined;
  }
}

export function summaryOf({ userMetadata }: Event): string | null {
  const summary = userMetadata?.summary;
  return summary ? defaultPayloadConverter.fromPayload<string>(summary) : null;
}

export const timeOf = ({ eventTime }: Event): string =>
  new Date(Number(eventTime?.seconds) * 1000 + (eventTime?.nanos ?? 0) / 1e6).toISOString();
