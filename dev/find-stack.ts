import { resolve } from 'node:path';
import { defaultState, pathsOf } from './paths.ts';
import { lockHolder } from './process/lock.ts';
import { isAlive } from './process/process-identity.ts';
import { readStackRecord } from './stack-file.ts';

/** A running stack that is ready. */
export interface RunningStack {
  state: string;
  /** Path of the file. */
  kubeconfig: string;
  /** `host:port` of Temporal's frontend. */
  temporalAddress: string;
  /** URL of Temporal's Web UI. */
  temporalUi: string;
  /** PID of the stack's supervisor. */
  pid: number;
}

/**
 * Returns the stack of a state folder (default: the user's); undefined if it isn't ready or its supervisor has ended.
 */
export function findStack(state: string = defaultState()): RunningStack | undefined {
  const record = readStackRecord(pathsOf(state).stack);
  if (record === undefined || record.phase !== 'ready' || !isAlive(record.supervisor)) return undefined;
  const { kubeconfig, temporalAddress, temporalUi, supervisor } = record;
  return { state, kubeconfig, temporalAddress, temporalUi, pid: supervisor.pid };
}

/**
 * Returns the phase of the user's stack if it runs but isn't ready: commands for it must not go elsewhere meanwhile.
 * Undefined if it is ready or doesn't run.
 */
export function unreadyStack(
  state: string = defaultState(),
): { state: string; phase: 'starting' | 'stopping' } | undefined {
  const files = pathsOf(state);
  const holder = lockHolder(files.lock);
  if (holder === undefined || findStack(state) !== undefined) return undefined;
  const record = readStackRecord(files.stack);
  const isItsOwn = record?.supervisor.pid === holder.pid && record.supervisor.started === holder.started;
  return { state, phase: isItsOwn && record.phase !== 'starting' ? 'stopping' : 'starting' };
}

/** Report whether a kubeconfig, or a Temporal address, is that of the stack, however it is written. */
export const isKubeconfigOf = (stack: RunningStack, file: string | undefined): boolean =>
  file !== undefined && file !== '' && resolve(file) === resolve(stack.kubeconfig);
export const isTemporalOf = (stack: RunningStack, address: string | undefined): boolean =>
  address?.replace(/^localhost:/i, '127.0.0.1:') === stack.temporalAddress;
