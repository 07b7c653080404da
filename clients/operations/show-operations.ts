import type { OperationAction } from '../../api/operations/operation.ts';
import { operationName } from '../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { printNote, print, printObjects, printData, type DataFormat } from '../cli/print.ts';
import { actionsTable, grouped } from '../history/table.ts';
import type { Session, Work } from '../session/session.ts';
import { actsOfOperation } from './acts.ts';
import { checkName, listOperations, findOperation, steer } from './find-operation.ts';
import { followOperation, whyPending } from './follow.ts';
import { linesOf, printOperations, type OperationsFormat } from './print-operations.ts';
import { readBudgetNames } from './with-budget-names.ts';

/** Operations of which some commands are about those with one action, in all namespaces if none is given. */
export interface About {
  action?: OperationAction;
}

const STEERING = {
  pause: { spec: { paused: true }, done: 'paused' },
  resume: { spec: { paused: false }, done: 'resumed' },
  abort: { spec: { aborted: true }, done: 'aborted' },
} as const;

/** What users may have an operation do that is in progress. */
export type Steering = keyof typeof STEERING;

/** The namespace in which operations are looked for; undefined for all. */
const namespaceFor = async (session: Session, { action }: About): Promise<string | undefined> =>
  action === undefined ? session.namespace() : session.globals.namespace;

/** Returns the operation that a command is about. Throws `UsageError` or `Failure`. */
async function meantBy(
  session: Session,
  name: string | undefined,
  options: About & { orNewest: boolean },
): Promise<[KubeClient, StoredOperation]> {
  checkName(name);
  const kube = await session.kube();
  return [kube, await findOperation(kube, await namespaceFor(session, options), name, options)];
}

export const listsOperations =
  (about: About): Work<{ allNamespaces?: boolean; output?: OperationsFormat }> =>
  async (session, flags) => {
    const namespace = flags.allNamespaces === true ? undefined : await namespaceFor(session, about);
    const listed = await listOperations(await session.kube(), namespace, about.action);
    await printOperations(listed, flags.output, about.action);
  };

export const showsOperation =
  (about: About): Work<{ watch?: boolean; output?: DataFormat }> =>
  async (session, { watch, output }, name?: string) => {
    const [kube, meant] = await meantBy(session, name, { orNewest: true, ...about });
    if (watch === true) return followOperation(session, meant);
    if (output !== undefined) return printObjects([meant], output, { isOne: true });
    print(linesOf(await readBudgetNames(kube, meant), Date.now()));
    const missing = await whyPending(session, meant);
    if (missing !== undefined) printNote(missing);
  };

export const steersOperation =
  (about: About, verb: Steering): Work<{ reason?: string }> =>
  async (session, { reason }, name?: string) => {
    const [kube, meant] = await meantBy(session, name, { orNewest: false, ...about });
    await steer(kube, meant, STEERING[verb].spec, reason);
    print(`operation ${operationName(meant.metadata)} ${STEERING[verb].done}`);
  };

/** Prints what an operation has done, VM by VM. */
export async function showLogs(session: Session, { output }: { output?: DataFormat }, name?: string): Promise<void> {
  const [, meant] = await meantBy(session, name, { orNewest: true });
  const acts = grouped(await actsOfOperation(session, meant));
  if (output !== undefined) return printData(acts, output);
  if (acts.length > 0) return print(actionsTable(acts, 'VM'));
  printNote(`operation ${operationName(meant.metadata)} has done nothing to any VM yet`);
}
