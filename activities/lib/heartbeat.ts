import { Context } from '@temporalio/activity';

const HEARTBEAT_MS = 2_000;

/**
 * Runs `act` and heartbeats meanwhile: by the clock, not by the call, for one that hangs is no dead worker. Of a worker
 * that dies Temporal then hears within the activity's heartbeat timeout, and need not wait until its whole time is
 * over.
 */
export async function withHeartbeat<T>(act: () => Promise<T>): Promise<T> {
  const { heartbeat } = Context.current();
  const beat = setInterval(() => heartbeat(), HEARTBEAT_MS);
  try {
    return await act();
  } finally {
    clearInterval(beat);
  }
}
