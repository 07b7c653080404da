import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { identify } from '../dev/process/process-identity.ts';
import { ProcessReaper } from '../dev/process/reaper.ts';

const reaper = new ProcessReaper();

/**
 * Like `spawn`, but the child ends with this process, however this ends. Otherwise, a killed test run would leave its
 * workers behind.
 */
export function spawnReaped(command: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
  const child = spawn(command, args, { ...options, detached: true });
  const identity = child.pid === undefined ? undefined : identify(child.pid);
  if (identity === undefined) return child;
  reaper.add(identity);
  child.once('exit', () => reaper.drop(identity));
  return child;
}
