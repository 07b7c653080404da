// oxlint-disable-next-line typescript/no-restricted-imports -- the one place that registers handlers
import { log, setHandler } from '@temporalio/workflow';
import type { QueryDefinition } from '@temporalio/common';
import { Unreadable } from '../decisions/payload/reader.ts';
import type { Signal } from './signals.ts';

/**
 * Hears a signal. An error in its handler would fail the workflow's task, which is tried again for ever with the same signal:
 * the workflow would stand still for good. So what can't be read is logged and dropped, whoever sent it.
 */
export function onSignal<Payload>(signal: Signal<Payload, never[]> | Signal<Payload, [Payload]> | Signal<Payload, [Payload?]>, description: string, hear: (payload: Payload) => void): void {
  const handler = (payload: unknown): void => {
    try {
      hear(signal.read(payload, signal.name));
    } catch (error) {
      if (error instanceof Unreadable) log.warn('a signal that says nothing of use is dropped', { signal: signal.name, why: error.message });
      else log.error('a signal could not be taken, and is dropped', { signal: signal.name, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  };
  setHandler(signal as Signal<Payload, unknown[]>, handler, { description });
}

/** Answers a query: whatever is sent with it. */
export function onQuery<Answer>(query: QueryDefinition<Answer>, answer: () => Answer): void {
  setHandler(query, () => answer());
}
