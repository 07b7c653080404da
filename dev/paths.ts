import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** Reports whether this program runs from drover's sources, which the stack needs. The container image has none. */
export const hasSources = (): boolean => existsSync(new URL('../simulator/main.ts', import.meta.url));

/** Returns the default state folder, where a stack keeps all its files. */
export function defaultState(env: NodeJS.ProcessEnv = process.env): string {
  return resolve(env['DROVER_STATE'] || join(env['XDG_STATE_HOME'] || join(homedir(), '.local', 'state'), 'drover'));
}

/** Returns the folder for downloaded and built tools, shared by all stacks of a user. */
export function defaultCache(env: NodeJS.ProcessEnv = process.env): string {
  return resolve(env['DROVER_CACHE'] || join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'drover'));
}

export const pathsOf = (state: string) => ({
  kubeconfig: join(state, 'kubeconfig'),
  env: join(state, 'env'),
  temporalConfig: join(state, 'temporal.toml'),
  stack: join(state, 'stack.json'),
  lock: join(state, 'lock'),
  logs: join(state, 'logs'),
  /** Certificates, keys and tokens. They outlive the data of an ephemeral stack. */
  credentials: join(state, 'credentials'),
  data: join(state, 'data'),
  /** Data of an ephemeral stack, separate from `data`, which an earlier persistent stack may have left. */
  ephemeral: join(state, 'ephemeral'),
});

/** Returns the error for a state folder that can't be written. */
export function stateUnwritable(state: string, error: unknown): Error {
  const { code, message } = error as NodeJS.ErrnoException;
  return new Error(`the state folder ${state} can't be written (${code ?? message}); give another with --state`, {
    cause: error,
  });
}
