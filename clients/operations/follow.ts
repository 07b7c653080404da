import { operationName, operationResource } from '../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import { Failure } from '../cli/failure.ts';
import { whenInterrupted } from '../cli/interrupted.ts';
import { Board } from '../cli/live.ts';
import { printNote, print } from '../cli/print.ts';
import { watchUntil } from '../cli/watch-until.ts';
import { exclusions, shortfalls } from '../runs/run-lines.ts';
import type { Session } from '../session/session.ts';
import { missingWorkers } from '../session/workers.ts';
import { isOver, linesOf, nameOf, outlineOf, progressOf, stateOf } from './print-operations.ts';
import { readBudgetNames } from './with-budget-names.ts';

export interface FollowOptions {
  /** Reports whether watching may end although the operation continues. */
  until?: (operation: StoredOperation) => boolean;
  /** Further lines for the end. */
  notes?: (operation: StoredOperation) => string[];
}

/** Shows an operation until it is over. Throws what was asked for and not done. Ctrl-C leaves it running. */
export async function followOperation(
  session: Session,
  operation: StoredOperation,
  { until = () => false, notes = () => [] }: FollowOptions = {},
): Promise<void> {
  const current = await untilOver(session, operation, (one) => isOver(one) || until(one));
  const outline = outlineOf(current);
  print(outline.end);
  const progress = progressOf(current);
  for (const line of [...exclusions(progress), ...notes(current)]) printNote(line);
  const missing = shortfalls(progress, outline);
  if (missing.length > 0) throw new AggregateError(missing);
  if (current.status?.conditions?.some(({ type }) => type === 'Failed') === true)
    throw new Failure(`${nameOf(current)}: ${outline.end}`);
}

/** A worker picks an operation up within this time, or users are told that it waits for one. */
const PENDING_MS = 3_000;

/** Returns one sentence if no worker looks at an operation that waits for one. */
export async function whyPending(session: Session, operation: StoredOperation): Promise<string | undefined> {
  if (stateOf(operation) !== 'Pending' || !(await session.knowsTemporal())) return undefined;
  return missingWorkers(session, operation.metadata.namespace);
}

async function untilOver(
  session: Session,
  operation: StoredOperation,
  isEnough: (operation: StoredOperation) => boolean,
): Promise<StoredOperation> {
  const kube = await session.kube();
  let missing: string | undefined;
  const withMissing = (one: StoredOperation): string[] =>
    missing === undefined || stateOf(one) !== 'Pending' ? [] : [`  ${missing}`];
  await using board = new Board<StoredOperation>('operation', {
    blockOf: (one, now) => [...linesOf(one, now), ...withMissing(one)],
  });
  let isLate = false;
  let shown = Promise.resolve();
  const show = (one: StoredOperation): void => {
    if (isLate || stateOf(one) !== 'Pending')
      shown = shown.then(async () => board.show([await readBudgetNames(kube, one)]));
  };
  await using _shown = { [Symbol.asyncDispose]: () => shown };
  show(operation);
  if (isEnough(operation)) return operation;
  using _ = whenInterrupted(() => formatStillRunning(operation.metadata));
  let current = operation;
  const { namespace, uid } = operation.metadata;
  const sayLate = async (): Promise<void> => {
    missing = await whyPending(session, current);
    isLate = stateOf(current) === 'Pending';
    if (isLate) show(current);
  };
  const late = setTimeout(() => void sayLate(), PENDING_MS);
  using _late = { [Symbol.dispose]: () => clearTimeout(late) };
  const watched = { kube, resource: operationResource(operation.metadata), namespace };
  await watchUntil<StoredOperation>(watched, (present) => {
    const now = present.get(uid);
    if (now === undefined) throw new Failure(`${nameOf(operation)} was deleted, so no further VM is touched`);
    show(now);
    current = now;
    return isEnough(now);
  });
  return current;
}

/** How users see and end an operation that continues. */
export function formatStillRunning({ namespace, name }: StoredOperation['metadata']): string {
  const argument = namespace === undefined ? name : `${name} -n ${namespace}`;
  return (
    `${operationName({ namespace, name })} is still running: \`drover operations describe ${argument} --watch\` shows it, ` +
    `\`drover operations abort ${argument}\` ends it`
  );
}
