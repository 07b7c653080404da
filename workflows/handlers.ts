import { defaultPayloadConverter, rawValueTypeInfo, type QueryDefinition, type RawValue } from '@temporalio/common';
// oxlint-disable-next-line typescript/no-restricted-imports -- the one place that registers handlers
import { log, setHandler } from '@temporalio/workflow';
import { Unreadable } from '../decisions/lib/payload-reader.ts';
import type { Signal } from './signals.ts';

/**
 * Hears a signal. An error in its handler would fail the workflow's task, which is tried again for ever with the same
 * signal: the workflow would stand still for good. So what can't be read is logged and dropped, whoever sent it.
 */
export function onSignal<Payload>(
  signal: Signal<Payload, never[]> | Signal<Payload, [Payload]> | Signal<Payload, [Payload?]>,
  description: string,
  hear: (payload: Payload) => void,
): void {
  const handler = (raw?: RawValue): void => {
    try {
      hear(signal.read(decoded(raw, signal.name), signal.name));
    } catch (error) {
      if (error instanceof Unreadable)
        log.warn('a signal that says nothing of use is dropped', { signal: signal.name, why: error.message });
      else
        log.error('a signal could not be taken, and is dropped', {
          signal: signal.name,
          error: error instanceof Error ? (error.stack ?? error.message) : String(error),
        });
    }
  };
  setHandler({ ...(signal as Signal<Payload, [RawValue?]>), typeInfo: UNDECODED }, handler, { description });
}

/**
 * The SDK fails the task over a payload that it can't decode. It leaves so many arguments as they come; at most the
 * first is read.
 */
const UNDECODED = { inputTypes: Array.from({ length: 16 }, () => rawValueTypeInfo) };

/**
 * Whoever sends a signal that can't be decoded, such as one that is encrypted for somebody else, means the signal and
 * says nothing with it.
 */
function decoded(raw: RawValue | undefined, signal: string): unknown {
  if (raw === undefined) return undefined;
  try {
    return defaultPayloadConverter.fromPayload(raw.payload);
  } catch (error) {
    log.warn('the payload of a signal can not be decoded, and is dropped', { signal, why: String(error) });
    return undefined;
  }
}

/** Answers a query: whatever is sent with it, for a query can come with a task, and fail it. */
export function onQuery<Answer>(query: QueryDefinition<Answer>, answer: () => Answer): void {
  setHandler({ ...(query as QueryDefinition<Answer, RawValue[]>), typeInfo: UNDECODED }, () => answer());
}
