import { defaultPayloadConverter, rawValueTypeInfo, type QueryDefinition, type RawValue } from '@temporalio/common';
// oxlint-disable-next-line typescript/no-restricted-imports -- the one place that registers handlers
import { CancellationScope, log, setHandler } from '@temporalio/workflow';
import { Unreadable } from '../../decisions/lib/payload-reader.ts';
import type { Signal } from './signals.ts';

/**
 * Handles a signal. An error in a signal's handler would fail the workflow task, which would be retried forever with
 * the same signal: the workflow would be stuck for good. So an unreadable signal is logged and dropped, whatever its
 * sender.
 */
export function onSignal<Payload>(
  signal: Signal<Payload, never[]> | Signal<Payload, [Payload]> | Signal<Payload, [Payload?]>,
  description: string,
  hear: (payload: Payload) => void,
): void {
  const handle = (raw?: RawValue): void => {
    try {
      hear(signal.read(decoded(raw, signal.name), signal.name));
    } catch (error) {
      if (error instanceof Unreadable)
        log.warn('dropped a signal with an invalid payload', { signal: signal.name, message: error.message });
      else
        log.error('dropped a signal that could not be handled', {
          signal: signal.name,
          error: error instanceof Error ? (error.stack ?? error.message) : String(error),
        });
    }
  };
  // What a handler begins continues although a user has requested the cancellation of the workflow.
  const handler = (raw?: RawValue): void => void CancellationScope.nonCancellable(() => Promise.resolve(handle(raw)));
  setHandler({ ...(signal as Signal<Payload, [RawValue?]>), typeInfo: UNDECODED }, handler, { description });
}

/**
 * Leaves up to 16 arguments undecoded, because the SDK fails the task if it can't decode a payload. At most the first
 * is read.
 */
const UNDECODED = { inputTypes: Array.from({ length: 16 }, () => rawValueTypeInfo) };

/**
 * Decodes a payload; undefined if that is impossible, for example because it is encrypted for another client. The
 * signal still counts then, without a payload.
 */
function decoded(raw: RawValue | undefined, signal: string): unknown {
  if (raw === undefined) return undefined;
  try {
    return defaultPayloadConverter.fromPayload(raw.payload);
  } catch (error) {
    log.warn('the payload of a signal cannot be decoded, and is dropped', { signal, message: String(error) });
    return undefined;
  }
}

/** Answers a query and ignores its arguments, because a query may come with a task and must not fail it. */
export function onQuery<Answer>(query: QueryDefinition<Answer>, description: string, answer: () => Answer): void {
  setHandler({ ...(query as QueryDefinition<Answer, RawValue[]>), typeInfo: UNDECODED }, () => answer(), {
    description,
  });
}
