import { pathsOf } from '../../dev/paths.ts';
import { lockHolder } from '../../dev/process/lock.ts';
import { endLeftovers, isAlive, type ProcessIdentity } from '../../dev/process/process-identity.ts';
import { readStackRecord } from '../../dev/stack-file.ts';
import { Failure } from '../cli/failure.ts';
import type { Globals } from '../cli/globals.ts';
import { printNote, print } from '../cli/print.ts';
import { lookUntil } from '../cli/watch-until.ts';
import { stateOf } from './starter.ts';

const STOPS_WITHIN_MS = 60_000;
const POLL_MS = 50;

/**
 * Asks the supervisor to stop the stack and waits until the supervisor and all its processes have ended. Throws
 * `Failure` if the supervisor takes longer than 60 seconds; accepts that nothing runs.
 */
export async function stop(globals: Globals): Promise<void> {
  const state = stateOf(globals);
  const files = pathsOf(state);
  const supervisor = lockHolder(files.lock);
  if (supervisor !== undefined) {
    printNote(`stopping the stack in ${state} (pid ${supervisor.pid})`);
    process.kill(supervisor.pid, 'SIGTERM');
    await gone(supervisor, state);
  }
  await endLeftovers(readStackRecord(files.stack)?.processes ?? []);
  print(supervisor === undefined ? `no stack runs in ${state}` : 'stopped');
}

async function gone(supervisor: ProcessIdentity, state: string): Promise<void> {
  const look = async (): Promise<true | undefined> => (isAlive(supervisor) ? undefined : true);
  if ((await lookUntil(look, { withinMs: STOPS_WITHIN_MS, everyMs: POLL_MS })) === undefined)
    throw new Failure(
      `the stack in ${state} has not stopped within ${STOPS_WITHIN_MS / 1000} s; \`kill -9 ${supervisor.pid}\` ends it`,
    );
}
