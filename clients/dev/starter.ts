import { resolve } from 'node:path';
import { defaultState } from '../../dev/paths.ts';
import { Failure } from '../cli/failure.ts';
import type { Globals } from '../cli/globals.ts';
import { printNote } from '../cli/print.ts';

export interface DevOptions {
  ephemeral?: boolean;
  simulator: boolean;
  worker: boolean;
  detach?: boolean;
  kubevirtCrds?: string;
  temporalPort?: number;
  uiPort?: number;
  apiserverPort?: number;
  simulatorPort?: number;
  /** Set by `--detach` for the process that it starts, which reports its progress to its starter. */
  background?: boolean;
}

export const stateOf = ({ state }: Globals): string => (state === undefined ? defaultState() : resolve(state));

/** Returns in one sentence why the stack did not start. If the message quotes a log after it, notes that log first. */
export function failedStart(error: unknown): Failure {
  const [first = '', ...log] = (error as Error).message.split('\n');
  const end = log.length === 0 ? -1 : first.lastIndexOf('; ');
  if (end === -1) return new Failure(first, { cause: error });
  printNote(`\n${first.slice(end + 2)}\n${log.join('\n')}\n`);
  return new Failure(first.slice(0, end), { cause: error });
}

/** What the process that `--detach` started tells its starter. */
export type StarterMessage =
  | { progress: string }
  | { failure: string }
  | { ready: { exports: string; temporalUi: string } };

/** Tells the starter something. Does nothing in the foreground, or after the starter has ended. */
export function notifyStarter(message: StarterMessage): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}
