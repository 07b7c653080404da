import type { ChildProcess } from 'node:child_process';
import { on, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import { spawnReaped } from '../reaped.ts';

export const BIN = join(import.meta.dirname, '../../clients/bin.js');

export interface Outcome {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** A user's environment without any server: no kubeconfig, no stack. */
export const nowhere: NodeJS.ProcessEnv = {
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
  DROVER_STATE: '/dev/null/state',
};

/** Starts the command as a user of the image does in tests on servers, and as a user of a clone does in others. */
export const start = (args: string[], env: NodeJS.ProcessEnv = nowhere): ChildProcess =>
  spawnReaped(process.execPath, [inject('programs')?.command ?? BIN, ...args], {
    env: { ...env, ...inject('programs')?.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });

/** Resolves with the outcome of the process when it has ended, by itself or by a signal. */
export async function outcomeOf(child: ChildProcess): Promise<Outcome> {
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>,
  ]);
  return { code, signal, stdout, stderr };
}

/**
 * Follows what a process writes. The returned function resolves when the output contains `words`, and rejects if the
 * output ends without them: only the test has a time limit, because a busy machine may need minutes.
 */
export function follow(output: Readable): (words: string) => Promise<void> {
  let written = '';
  output.on('data', (chunk: Buffer) => (written += chunk.toString()));
  return async (words) => {
    const chunks = on(output, 'data', { close: ['end'] });
    while (!written.includes(words)) {
      const { done } = output.readableEnded ? { done: true } : await chunks.next();
      if (done) throw new Error(`the output ended without ${JSON.stringify(words)}:\n${written}`);
    }
    await chunks.return!();
  };
}

export function drover(args: string[], env: NodeJS.ProcessEnv = nowhere, input = ''): Promise<Outcome> {
  const child = start(args, env);
  child.stdin!.end(input);
  return outcomeOf(child);
}

/** Returns the ids of a process's children. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}
