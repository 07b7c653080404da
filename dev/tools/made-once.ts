import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockHeld, acquireLock } from '../process/lock.ts';
import { isProgram } from './find-tool.ts';

export interface MakeOptions {
  onProgress: (line: string) => void;
  signal?: AbortSignal | undefined;
}

const LOCK_POLL_MS = 500;

/**
 * Puts the program `target`, with the other files of its folder, into the cache, or waits until another process has
 * done so. `make` creates it at the path that it is given. `target` appears only when it is complete.
 */
export async function madeOnce(
  target: string,
  options: MakeOptions,
  make: (program: string) => Promise<void>,
): Promise<string> {
  const folder = dirname(target);
  const unfinished = `${folder}.unfinished`;
  const lock = await waitForLock(basename(target), `${folder}.lock`, options);
  try {
    if (isProgram(target)) return target;
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished);
    await make(join(unfinished, basename(target)));
    rmSync(folder, { recursive: true, force: true });
    renameSync(unfinished, folder);
    return target;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
    lock.release();
  }
}

async function waitForLock(
  name: string,
  file: string,
  { onProgress, signal }: MakeOptions,
): Promise<{ release: () => void }> {
  for (let isReported = false; ; isReported = true) {
    try {
      return acquireLock(file);
    } catch (error) {
      if (!(error instanceof LockHeld)) throw error;
      if (!isReported) onProgress(`waiting for process ${error.holder.pid}, which is making ${name}`);
      await sleep(LOCK_POLL_MS, undefined, { signal });
    }
  }
}

/** Returns an error with advice if the cache's disk is full or its folder isn't writable; any other error unchanged. */
export function readableError(error: unknown, cache: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new Error(
      `the disk of the cache ${cache} is full: make room, or set DROVER_CACHE to a folder on another disk`,
      { cause: error },
    );
  }
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS' || code === 'ENOTDIR' || code === 'EEXIST') {
    return new Error(`the cache ${cache} can't be written (${code}): set DROVER_CACHE to a folder that can`, {
      cause: error,
    });
  }
  return error;
}
