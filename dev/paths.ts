import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * Whether this program runs from drover's sources, of which a stack's own parts are made. The image's program does not.
 */
export const hasSources = (): boolean => existsSync(new URL('../simulator/main.ts', import.meta.url));

/** Where a stack keeps everything, unless it is told a folder of its own. */
export function defaultState(env: NodeJS.ProcessEnv = process.env): string {
  return resolve(env['DROVER_STATE'] || join(env['XDG_STATE_HOME'] || join(homedir(), '.local', 'state'), 'drover'));
}

/** Where the tools that were downloaded or built are kept, for all stacks of a user. */
export function defaultCache(env: NodeJS.ProcessEnv = process.env): string {
  return resolve(env['DROVER_CACHE'] || join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'drover'));
}

/** The files of one stack. */
export const filesOf = (state: string) => ({
  kubeconfig: join(state, 'kubeconfig'),
  env: join(state, 'env'),
  temporalConfig: join(state, 'temporal.toml'),
  stack: join(state, 'stack.json'),
  lock: join(state, 'lock'),
  logs: join(state, 'logs'),
  /** Certificates, keys and tokens: they outlive the data of an ephemeral stack. */
  credentials: join(state, 'credentials'),
  data: join(state, 'data'),
  /** Data of an ephemeral stack; apart from `data`, which a persistent one before it may have left. */
  ephemeral: join(state, 'ephemeral'),
});

/** Why nothing can be kept in the state folder. */
export function stateUnwritable(state: string, error: unknown): Error {
  const { code, message } = error as NodeJS.ErrnoException;
  return new Error(`the state folder ${state} can't be written (${code ?? message}); give another with --state`, {
    cause: error,
  });
}
