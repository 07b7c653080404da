import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { identify, isAlive, type ProcessIdentity } from './process-identity.ts';

/** Held by another process, which lives. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld';
  readonly holder: ProcessIdentity;

  constructor(file: string, holder: ProcessIdentity) {
    super(`${file} is held by process ${holder.pid}`);
    this.holder = holder;
  }
}

/** Takes the lock file for this process until `release`; a lock whose process has ended is taken over. Throws `LockHeld`. */
export function takeLock(file: string): { release: () => void } {
  const token = randomUUID();
  const mine = `${file}.${token}`;
  writeFileSync(mine, JSON.stringify({ ...identify(process.pid), token }), { mode: 0o600 });
  try {
    for (;;) {
      // A hard link appears at once and whole, and fails where there is one: unlike a file that is created, then written.
      if (tryLink(mine, file)) return { release: () => releaseLock(file, token) };
      const held = readLock(file);
      if (held === undefined) continue;
      if (isAlive(held)) throw new LockHeld(file, held);
      bury(file, held.token);
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/** Who holds the lock now, if anyone who lives does. */
export function lockHolder(file: string): ProcessIdentity | undefined {
  const held = readLock(file);
  return held !== undefined && isAlive(held) ? { pid: held.pid, started: held.started } : undefined;
}

function releaseLock(file: string, token: string): void {
  if (readLock(file)?.token === token) rmSync(file, { force: true });
}

/** Moves a dead process's lock away. Should another have taken it over in this moment, its lock goes back. */
function bury(file: string, deadToken: string): void {
  const grave = `${file}.${randomUUID()}`;
  try {
    renameSync(file, grave);
  } catch {
    return;
  }
  if (readLock(grave)?.token !== deadToken) tryLink(grave, file);
  rmSync(grave, { force: true });
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

function readLock(file: string): (ProcessIdentity & { token: string }) | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity & { token: string };
  } catch {
    return undefined;
  }
}
