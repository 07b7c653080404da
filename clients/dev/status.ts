import { join } from 'node:path';
import { pathsOf } from '../../dev/paths.ts';
import { lockHolder } from '../../dev/process/lock.ts';
import { isAlive } from '../../dev/process/process-identity.ts';
import { readStackRecord, type StackRecord } from '../../dev/stack-file.ts';
import type { Globals } from '../cli/globals.ts';
import { print, printData, table, type Cell, type DataFormat } from '../cli/print.ts';
import { stateOf } from './starter.ts';

/** What `-o json` prints. The addresses are present once they are known, the processes while they run. */
interface Status extends Partial<
  Pick<StackRecord, 'kubeconfig' | 'temporalAddress' | 'temporalUi' | 'ephemeral' | 'ports'>
> {
  state: string;
  phase: StackRecord['phase'];
  pid?: number;
  env?: string;
  processes: { name: string; pid: number | null; log: string }[];
}

export async function status({ output }: { output?: DataFormat }, globals: Globals): Promise<void> {
  const found = read(stateOf(globals));
  if (found.phase !== 'ready') process.exitCode = 1;
  if (output === undefined) print(asText(found));
  else await printData(found, output);
}

function read(state: string): Status {
  const files = pathsOf(state);
  const supervisor = lockHolder(files.lock);
  if (supervisor === undefined) return { state, phase: 'stopped', processes: [] };
  const record = readStackRecord(files.stack);
  // Between the lock and the first record, only what another run has left exists.
  if (
    record === undefined ||
    record.supervisor.pid !== supervisor.pid ||
    record.supervisor.started !== supervisor.started
  ) {
    return { state, phase: 'starting', pid: supervisor.pid, processes: [] };
  }
  const { phase, kubeconfig, temporalAddress, temporalUi, ephemeral, ports } = record;
  const processes = record.names.map((name) => {
    const running = record.processes.find((process_) => process_.name === name && isAlive(process_));
    return { name, pid: running?.pid ?? null, log: join(files.logs, `${name}.log`) };
  });
  return {
    state,
    phase,
    pid: supervisor.pid,
    kubeconfig,
    temporalAddress,
    temporalUi,
    env: files.env,
    ephemeral,
    ports,
    processes,
  };
}

function asText({ state, phase, pid, processes, kubeconfig, temporalAddress, temporalUi, env }: Status): string {
  if (phase === 'stopped') return `no stack runs in ${state}`;
  const head = `the stack in ${state} is ${phase} (pid ${pid})`;
  if (kubeconfig === undefined) return head;
  const rows: Cell[][] = processes.map(({ name, pid, log }) => [name, pid ?? { text: 'down', style: 'red' }, log]);
  const facts = [
    `Web UI      ${temporalUi}`,
    `Temporal    ${temporalAddress}`,
    `kubeconfig  ${kubeconfig}`,
    `in a shell  . ${env}`,
  ];
  return [head, '', ...table(['PROCESS', 'PID', 'LOG'], rows), '', ...facts].join('\n');
}
