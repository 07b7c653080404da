import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process, distinguished by its start time from a later process with the same PID. */
export interface ProcessIdentity {
  pid: number;
  /** Opaque; equal only for the same process. */
  started: string;
}

/** Returns when the process started; undefined if it doesn't exist or is a zombie. */
export function startedAt(pid: number): string | undefined {
  return existsSync('/proc/self/stat') ? fromProc(pid) : fromPs(pid);
}

export const identify = (pid: number): ProcessIdentity | undefined => {
  const started = startedAt(pid);
  return started === undefined ? undefined : { pid, started };
};

export const isAlive = ({ pid, started }: ProcessIdentity): boolean => startedAt(pid) === started;

/** Sends a signal to the process group that this process leads; returns false if the process has ended. */
export function signalGroup(process_: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isAlive(process_)) return false;
  try {
    return process.kill(-process_.pid, signal);
  } catch {
    return false;
  }
}

/** Longer than the reaper takes to end the processes of a dead supervisor. */
const LEFTOVERS_END_WITHIN_MS = 8000;

/**
 * Waits until the processes of a dead supervisor have ended, and kills their groups if that takes too long. Each must
 * lead a process group.
 */
export async function endLeftovers(processes: readonly ProcessIdentity[]): Promise<void> {
  const deadline = Date.now() + LEFTOVERS_END_WITHIN_MS;
  while (processes.some(isAlive)) {
    if (Date.now() > deadline) for (const process_ of processes) signalGroup(process_, 'SIGKILL');
    await sleep(50);
  }
}

function fromProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field is the command in parentheses and may hold anything, so fields are counted from its end.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function fromPs(pid: number): string | undefined {
  try {
    const [state = 'Z', ...started] = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
    })
      .trim()
      .split(/\s+/);
    return state.startsWith('Z') ? undefined : started.join(' ');
  } catch {
    return undefined;
  }
}
