import type { EventReason } from '../api/reasons.ts';

/** What an Event says about an object. */
export interface EventDetails {
  type: 'Normal' | 'Warning';
  reason: EventReason;
  /** What drover was doing. */
  action: string;
  note: string;
}

/** The object that an Event is about. */
export interface RegardingObject {
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
  uid: string;
  resourceVersion?: string;
}

/** The reporter of an Event: the component, and its run or process. `id` ends the name of the Event. */
interface Reporter {
  component: string;
  instance: string;
  id: string;
}

/** In bytes, as the API server counts them: it refuses an Event with a longer message. */
const NOTE_LENGTH = 1024;

/**
 * Returns an Event of the core API group: those of `events.k8s.io` may have no last timestamp, which kubectl needs to
 * sort them and to show their age.
 */
export function eventOf(regarding: RegardingObject, { type, reason, action, note }: EventDetails, reporter: Reporter) {
  const now = new Date().toISOString();
  const at = now.replace(/\.\d+Z$/, 'Z');
  return {
    metadata: { name: `${regarding.name}.${reporter.id}`, namespace: regarding.namespace },
    eventTime: now.replace('Z', '000Z'),
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
    source: { component: reporter.component },
    reportingComponent: reporter.component,
    reportingInstance: reporter.instance.slice(0, 128),
    type,
    reason,
    action,
    message: cut(note),
    involvedObject: regarding,
  };
}

/** As much of the text as fits, in whole characters. */
function cut(note: string): string {
  const bytes = new TextEncoder().encode(note);
  // What is left of a character that is cut through is dropped, not replaced.
  return bytes.length <= NOTE_LENGTH
    ? note
    : new TextDecoder().decode(bytes.subarray(0, NOTE_LENGTH), { stream: true });
}
