import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { StackPorts } from './process/ports.ts';
import type { ProcessIdentity } from './process/process-identity.ts';

export type Phase = 'starting' | 'ready' | 'stopping' | 'stopped';

/** The content of `stack.json`: written by the stack's supervisor on every change, read by all others. */
export interface StackRecord {
  phase: Phase;
  supervisor: ProcessIdentity;
  ephemeral: boolean;
  ports: StackPorts;
  kubeconfig: string;
  temporalAddress: string;
  /** URL of the Web UI. */
  temporalUi: string;
  /** All processes of the stack; the running ones are in `processes`. */
  names: string[];
  processes: (ProcessIdentity & { name: string })[];
}

export function readStackRecord(file: string): StackRecord | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as StackRecord;
  } catch {
    return undefined;
  }
}

/** Writes atomically, so that no reader sees half a file. */
export function writeStackRecord(file: string, record: StackRecord): void {
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
  renameSync(unfinished, file);
}
