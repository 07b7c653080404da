import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { readCrds } from './crds/crds.ts';
import { EmbeddedStack, type StackOptions, type Stack } from './embedded-stack.ts';
import { pathsOf, stateUnwritable } from './paths.ts';
import { LockHeld, acquireLock } from './process/lock.ts';
import type { ProcessIdentity } from './process/process-identity.ts';
import { readStackRecord } from './stack-file.ts';

/** Another stack runs in the same state folder. */
class StackRuns extends Error {
  override readonly name = 'StackRuns';
}

/**
 * Starts the stack. Resolves when all of it is ready. Throws `StackRuns`, or why the stack can't start, and leaves no
 * process running.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  if (process.platform === 'win32')
    throw new Error('the embedded stack needs Linux or macOS: on Windows, run drover in WSL');
  const state = resolve(options.state);
  // Fails on bad CRDs before anything is written to the state folder.
  if (options.kubevirtCrds !== undefined) readCrds(options.kubevirtCrds);
  const lock = lockState(state);
  const stack = new EmbeddedStack({ ...options, state }, lock.release);
  try {
    await stack.start();
    return stack;
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

function lockState(state: string): { release: () => void } {
  try {
    mkdirSync(state, { recursive: true, mode: 0o700 });
    return acquireLock(pathsOf(state).lock);
  } catch (error) {
    if (error instanceof LockHeld) throw stackRuns(state, error.holder);
    throw stateUnwritable(state, error);
  }
}

function stackRuns(state: string, holder: ProcessIdentity): StackRuns {
  const record = readStackRecord(pathsOf(state).stack);
  const at = record?.supervisor.pid === holder.pid ? `, Web UI at ${record.temporalUi}` : '';
  return new StackRuns(
    `a stack runs in ${state} (pid ${holder.pid}${at}): stop it with \`drover dev stop\`, or give another folder with --state`,
  );
}
