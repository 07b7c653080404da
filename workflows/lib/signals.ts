import type { SignalDefinition } from '@temporalio/common';
// oxlint-disable-next-line typescript/no-restricted-imports -- the one place that declares signals
import { defineSignal } from '@temporalio/workflow';
import type { Reader } from '../../decisions/lib/payload-reader.ts';

/** A signal with the reader of its payload, since a caller may send anything. */
export interface Signal<Payload, Args extends unknown[]> extends SignalDefinition<Args> {
  read: Reader<Payload>;
}

/** Declares a signal that needs a payload. */
export const signalOf = <Payload>(name: string, read: Reader<Payload>): Signal<Payload, [Payload]> => ({
  ...defineSignal<[Payload]>(name),
  read,
});

/** Declares a signal whose payload is optional. */
export const bareSignalOf = <Payload>(name: string, read: Reader<Payload>): Signal<Payload, [Payload?]> => ({
  ...defineSignal<[Payload?]>(name),
  read,
});
