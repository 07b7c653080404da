import { setTimeout as sleep } from 'node:timers/promises';
import { VirtualMachineOperations } from '../../api/resources.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, isTransient } from '../../kubernetes/errors.ts';
import { Failure } from '../cli/failure.ts';
import { Board } from '../cli/live.ts';
import { note, print } from '../cli/output.ts';
import { exclusions, shortfalls } from '../runs/report.ts';
import { isOver, linesOf, nameOf, outlineOf, progressOf } from './view.ts';

const LOOK_MS = 500;

/** Shows operations until all are over. Throws what was asked for and not done. Ctrl-C leaves them running. */
export async function followOperations(kube: KubeClient, operations: StoredOperation[]): Promise<void> {
  process.prependOnceListener('SIGINT', () => {
    for (const { metadata } of operations) note(`\n${formatGoesOn(metadata)}`);
  });
  const current = await untilOver(kube, operations);
  const missing = current.flatMap((operation) => {
    const outline = outlineOf(operation);
    print(outline.end);
    const progress = progressOf(operation);
    for (const line of exclusions(progress)) note(line);
    return shortfalls(progress, outline);
  });
  if (missing.length > 0) throw new AggregateError(missing);
  const failed = current.filter(({ status }) => status?.conditions?.some(({ type }) => type === 'Failed') === true);
  if (failed.length > 0)
    throw new AggregateError(failed.map((one) => new Failure(`${nameOf(one)}: ${outlineOf(one).end}`)));
}

async function untilOver(kube: KubeClient, operations: StoredOperation[]): Promise<StoredOperation[]> {
  await using board = new Board<StoredOperation>('operation', { blockOf: linesOf });
  for (let current = operations; ; await sleep(LOOK_MS)) {
    current = await Promise.all(current.map((operation) => readAgain(kube, operation)));
    board.show(current);
    if (current.every(isOver)) return current;
  }
}

const formatGoesOn = ({ namespace, name }: StoredOperation['metadata']): string =>
  `${namespace}/${name} goes on: \`drover operations describe ${name} -n ${namespace} --watch\` shows it, ` +
  `\`drover operations abort ${name} -n ${namespace}\` ends it`;

async function readAgain(kube: KubeClient, operation: StoredOperation): Promise<StoredOperation> {
  if (isOver(operation)) return operation;
  try {
    const read = await ignoreNotFound(kube.get<StoredOperation>(VirtualMachineOperations, operation.metadata));
    if (read?.metadata.uid === operation.metadata.uid) return read;
  } catch (error) {
    if (isTransient(error)) return operation;
    throw error;
  }
  throw new Failure(`${nameOf(operation)} was deleted: no further VM is touched`);
}
