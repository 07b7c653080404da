import type { SignalDefinition } from '@temporalio/common';
// oxlint-disable-next-line typescript/no-restricted-imports -- the one place that declares signals
import { defineSignal } from '@temporalio/workflow';
import type { Reader } from '../decisions/lib/payload-reader.ts';

/** A signal that says how its payload is read: anybody may send anything. */
export interface Signal<Payload, Args extends unknown[]> extends SignalDefinition<Args> {
  read: Reader<Payload>;
}

/** A signal that says something. */
export const signalOf = <Payload>(name: string, read: Reader<Payload>): Signal<Payload, [Payload]> => ({
  ...defineSignal<[Payload]>(name),
  read,
});

/** A signal that may come without a word. */
export const bareSignalOf = <Payload>(name: string, read: Reader<Payload>): Signal<Payload, [Payload?]> => ({
  ...defineSignal<[Payload?]>(name),
  read,
});
