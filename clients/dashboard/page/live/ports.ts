import type { Message } from '../../contract/messages.ts';

/**
 * How the stream is. `connecting`: nothing has come yet. `reconnecting`: it broke, and what is shown is from before
 * `since`. `signed-out`: the server does not know this browser, as after a new start,
 * or the proxy before the server no longer knows its user.
 */
export interface Connection {
  type: 'connection';
  state: 'connecting' | 'open' | 'reconnecting' | 'signed-out';
  /** Milliseconds since the epoch. */
  since: number;
  /** What the server says of why it refuses; null if it says nothing. */
  message: string | null;
}

/** What the worker tells a tab: how the stream is, and what comes by it. */
export type ToTab = Connection | Message;

/**
 * What a tab tells the worker: the name of a lock that the tab holds as long as it lives, and whether it wants the
 * stream. A tab that is hidden or paused does not want the stream, and costs nothing.
 */
export type ToHub = { type: 'hello'; lock: string } | { type: 'want'; isWanted: boolean };

/** The worker's end of a tab. */
export type Port = Pick<MessagePort, 'addEventListener' | 'start'> & { postMessage(message: ToTab): void };
