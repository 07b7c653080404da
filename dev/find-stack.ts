import { defaultState, filesOf } from './paths.ts';
import { isAlive } from './process-identity.ts';
import { readStackRecord } from './stack-file.ts';

/** A stack that runs and is ready. */
export interface RunningStack {
  state: string;
  /** Path. */
  kubeconfig: string;
  /** `host:port` of Temporal's frontend. */
  temporalAddress: string;
  /** URL of Temporal's Web UI. */
  temporalUi: string;
  /** Of its supervisor. */
  pid: number;
}

/** The stack of a state folder (by default, the user's), or undefined where none is ready there or its supervisor is gone. */
export function findStack(state: string = defaultState()): RunningStack | undefined {
  const record = readStackRecord(filesOf(state).stack);
  if (record === undefined || record.phase !== 'ready' || !isAlive(record.supervisor)) return undefined;
  const { kubeconfig, temporalAddress, temporalUi, supervisor } = record;
  return { state, kubeconfig, temporalAddress, temporalUi, pid: supervisor.pid };
}
