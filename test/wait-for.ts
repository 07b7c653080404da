import { setTimeout as sleep } from 'node:timers/promises';
import { vi } from 'vitest';

/**
 * Time limit, in milliseconds, for what takes seconds on an idle machine and may take minutes on a busy one. Shorter
 * than the time limit of a test on servers, so that the failure says what did not come.
 */
export const PATIENCE_MS = 240_000;

/** In milliseconds. */
const FIRST_MS = 100;
const LONGEST_MS = 500;

/**
 * Resolves with what `check` returns once it does not throw, and throws its last error after `timeout` milliseconds.
 * The checks come more and more seldom: those of tests that wait for long would otherwise take a good part of the CPU.
 */
export async function waitFor<T>(check: () => T | Promise<T>, timeout: number): Promise<T> {
  const deadline = Date.now() + timeout;
  for (let pause = FIRST_MS; ; pause = Math.min(pause * 1.5, LONGEST_MS)) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() + pause > deadline) throw error;
    }
    await sleep(pause);
  }
}

/** Waits within one process, for what takes milliseconds on an idle machine; also under fake timers. */
export const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: PATIENCE_MS / 4, interval: 20 });
