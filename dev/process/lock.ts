import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { identify, isAlive, type ProcessIdentity } from './process-identity.ts';

/** The lock is held by another live process. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld';
  readonly holder: ProcessIdentity;

  constructor(file: string, holder: ProcessIdentity) {
    super(`${file} is held by process ${holder.pid}`);
    this.holder = holder;
  }
}

/**
 * Takes the lock file for this process until `release`. Takes over the lock of a process that has ended. Throws
 * `LockHeld`.
 */
export function acquireLock(file: string): { release: () => void } {
  const token = randomUUID();
  const ownFile = `${file}.${token}`;
  writeFileSync(ownFile, JSON.stringify({ ...identify(process.pid), token }), { mode: 0o600 });
  try {
    for (;;) {
      // A hard link appears atomically with its content, and fails if the file exists. A file that is created and then
      // written doesn't appear atomically.
      if (tryLink(ownFile, file)) return { release: () => releaseLock(file, token) };
      const holder = readLock(file);
      if (holder === undefined) continue;
      if (isAlive(holder)) throw new LockHeld(file, holder);
      bury(file, holder.token);
    }
  } finally {
    rmSync(ownFile, { force: true });
  }
}

/** Returns the live process that holds the lock; undefined if there is none. */
export function lockHolder(file: string): ProcessIdentity | undefined {
  const holder = readLock(file);
  return holder !== undefined && isAlive(holder) ? { pid: holder.pid, started: holder.started } : undefined;
}

function releaseLock(file: string, token: string): void {
  if (readLock(file)?.token === token) rmSync(file, { force: true });
}

/**
 * Removes a dead process's lock, under its own lock. Otherwise, of two processes doing so, the second could remove
 * the first's new lock.
 */
function bury(file: string, deadToken: string): void {
  let claim: { release: () => void };
  try {
    claim = acquireLock(`${file}.${deadToken}`);
  } catch (error) {
    if (error instanceof LockHeld) return;
    throw error;
  }
  if (readLock(file)?.token === deadToken) rmSync(file, { force: true });
  claim.release();
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Unreadable content counts as a dead process's lock: locks are written atomically, so the file was damaged later. */
function readLock(file: string): (ProcessIdentity & { token: string }) | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
  try {
    return JSON.parse(text) as ProcessIdentity & { token: string };
  } catch {
    return { pid: 0, started: '', token: 'damaged' };
  }
}
