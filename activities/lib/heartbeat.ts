import { Context } from '@temporalio/activity';

const HEARTBEAT_MS = 2_000;

/**
 * Runs `act` and heartbeats meanwhile: on a timer and not for each call, since a hanging call does not mean a dead
 * worker. If the worker dies, Temporal learns of it within the activity's heartbeat timeout instead of its
 * start-to-close timeout.
 */
export async function withHeartbeat<T>(act: () => Promise<T>): Promise<T> {
  const { heartbeat, info } = Context.current();
  if (info.isLocal) return act();
  const beat = setInterval(() => heartbeat(), HEARTBEAT_MS);
  try {
    return await act();
  } finally {
    clearInterval(beat);
  }
}
