import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { readCrds } from './crds.ts';
import { EmbeddedStack } from './embedded-stack.ts';
import { LockHeld, takeLock } from './lock.ts';
import { filesOf, stateUnwritable } from './paths.ts';
import type { StackPorts } from './ports.ts';
import type { ProcessIdentity } from './process-identity.ts';
import { readStackRecord } from './stack-file.ts';
import type { ToolName } from './tools/catalog.ts';

export type ProcessName = ToolName | 'simulator' | 'worker';

export interface StackOptions {
  /** Folder that keeps everything of the stack. */
  state: string;
  /** Start with nothing and keep nothing. */
  ephemeral?: boolean;
  /** Both true unless said otherwise. */
  simulator?: boolean;
  worker?: boolean;
  /** File of CRDs that replace the stack's own for KubeVirt's kinds. */
  kubevirtCrds?: string;
  ports?: Partial<StackPorts>;
  /** For the worker, on top of the stack's environment. */
  workerEnv?: Record<string, string>;
  /** Start a process again when it ends by itself; true unless said otherwise. */
  restarts?: boolean;
  /** Runs when the servers are ready, before the worker starts, with the stack's environment. */
  prepare?: (env: Record<string, string>) => Promise<void>;
  onProgress?: (line: string) => void;
  /** Ends the start, and whatever it has started. */
  signal?: AbortSignal;
}

export interface Stack {
  readonly state: string;
  /** Path. */
  readonly kubeconfig: string;
  /** `host:port` of Temporal's frontend. */
  readonly temporalAddress: string;
  /** URL of Temporal's Web UI. */
  readonly temporalUi: string;
  /** What a client of the stack needs: `KUBECONFIG`, `TEMPORAL_ADDRESS`, … */
  readonly env: Record<string, string>;
  readonly processes: { name: ProcessName; pid: number }[];
  stop(): Promise<void>;
  /** Stops one process and leaves it stopped, until `restart`. */
  halt(name: ProcessName): Promise<void>;
  /** Resolves when it is ready again. */
  restart(name: ProcessName): Promise<void>;
  /** Only sends the signal: what follows is as when another sends it. */
  kill(name: ProcessName, signal: NodeJS.Signals): void;
}

/** Another stack runs in the same state folder. */
export class StackRuns extends Error {
  override readonly name = 'StackRuns';
}

/** Starts the stack and resolves when all of it is ready. Throws `StackRuns`, or why it can't start, with nothing left running. */
export async function startStack(options: StackOptions): Promise<Stack> {
  if (process.platform === 'win32') throw new Error('the embedded stack needs Linux or macOS: on Windows, run drover in WSL');
  const state = resolve(options.state);
  // Before anything is left behind in the state folder.
  if (options.kubevirtCrds !== undefined) readCrds(options.kubevirtCrds);
  const lock = lockState(state);
  const stack = new EmbeddedStack({ ...options, state }, lock.release);
  try {
    await stack.start();
    return stack;
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

function lockState(state: string): { release: () => void } {
  try {
    mkdirSync(state, { recursive: true, mode: 0o700 });
    return takeLock(filesOf(state).lock);
  } catch (error) {
    if (error instanceof LockHeld) throw stackRuns(state, error.holder);
    throw stateUnwritable(state, error);
  }
}

function stackRuns(state: string, holder: ProcessIdentity): StackRuns {
  const record = readStackRecord(filesOf(state).stack);
  const at = record?.supervisor.pid === holder.pid ? `, Web UI at ${record.temporalUi}` : '';
  return new StackRuns(`a stack runs in ${state} (pid ${holder.pid}${at}): stop it with \`drover dev stop\`, or give another folder with --state`);
}
