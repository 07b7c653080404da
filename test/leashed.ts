import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { Leash } from '../dev/process/leash.ts';
import { identify } from '../dev/process/process-identity.ts';

const leash = new Leash();

/**
 * Like `spawn`, but the child ends with this process, however this ends. Otherwise, a killed test run would leave its
 * workers behind.
 */
export function spawnLeashed(command: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
  const child = spawn(command, args, { ...options, detached: true });
  const identity = child.pid === undefined ? undefined : identify(child.pid);
  if (identity === undefined) return child;
  leash.hold(identity);
  child.once('exit', () => leash.drop(identity));
  return child;
}
