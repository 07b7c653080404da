import { CLAIM_NAME } from '../../api/claims/claim.ts';
import { portionOf, portionsOf, type Portion } from '../../decisions/shards/portion.ts';
import { claimHolderOf } from '../../kubernetes/served.ts';
import { taskQueueOf } from '../../workflows/lib/messages.ts';
import { sentenceOf } from '../cli/failure.ts';
import type { Session } from './session.ts';

const known = new WeakMap<Session, Map<string, Promise<string>>>();

/**
 * Returns the name of the workers that serve a namespace, by default that of the command: the workers that it is left
 * to, or else the cluster's. Users who may not read that get the cluster's.
 */
export function workersIn(session: Session, namespace = ''): Promise<string> {
  const names = known.get(session) ?? new Map<string, Promise<string>>();
  known.set(session, names);
  const name = names.get(namespace) ?? read(session, namespace);
  names.set(namespace, name);
  return name;
}

async function read(session: Session, namespace: string): Promise<string> {
  try {
    return (await claimHolderOf(await session.kube(), namespace || (await session.namespace()))) ?? session.cluster;
  } catch {
    return session.cluster;
  }
}

const DEADLINE_MS = 2_000;
/** A worker polls again every minute; Temporal still lists it for minutes after it has died. */
const POLL_MS = 75_000;

export interface Poller {
  identity: string;
  /** Of drover; null if the worker does not say. */
  version: string | null;
}

/** Returns into how many shards what these workers serve is divided. */
async function shardsOf(session: Session, workers: string): Promise<number> {
  const [{ client }, { watchedCluster }] = await Promise.all([
    session.temporal(),
    import('../../workers/watch/cluster-watch.ts'),
  ]);
  return (await watchedCluster(client, workers))?.shards ?? 1;
}

/** Returns the workers that poll each of these task queues. Throws if Temporal does not answer. */
export async function allPollersOf(session: Session, workers: string): Promise<Map<string, Poller[]>> {
  const portions = portionsOf(await shardsOf(session, workers));
  const polled = async (portion: Portion) =>
    [taskQueueOf(workers, portion), await pollersOf(session, workers, portion)] as const;
  return new Map(await Promise.all(portions.map(polled)));
}

/** Returns which of these workers poll the task queue. Throws if Temporal does not answer within 2 seconds. */
async function pollersOf(session: Session, workers: string, portion: Portion): Promise<Poller[]> {
  const { connection, namespace } = await session.temporal();
  const name = taskQueueOf(workers, portion);
  const described = connection.withDeadline(Date.now() + DEADLINE_MS, () =>
    connection.workflowService.describeTaskQueue({ namespace, taskQueue: { name } }),
  );
  const { pollers } = await session.untilAnswered(described);
  return (pollers ?? [])
    .filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds) * 1000 > Date.now() - POLL_MS)
    .map(({ identity, deploymentOptions }) => ({
      identity: identity ?? '',
      version: deploymentOptions?.buildId || null,
    }));
}

/**
 * Returns one sentence if no worker serves the namespace, or without one what is in none, or if that is unknown;
 * otherwise undefined.
 */
export async function missingWorkers(session: Session, namespace: string | undefined): Promise<string | undefined> {
  try {
    const workers = namespace === undefined ? session.cluster : await workersIn(session, namespace);
    const portion = portionOf(namespace, await shardsOf(session, workers));
    if ((await pollersOf(session, workers, portion)).length > 0) return undefined;
    const none = `no drover worker polls the task queue ${taskQueueOf(workers, portion)}: nothing happens until one does`;
    if (workers === session.cluster) return `${none}; \`drover worker\` starts one`;
    return `${none}, since the Lease ${CLAIM_NAME} leaves the namespace to these workers`;
  } catch (error) {
    return `whether a drover worker runs is not known: ${sentenceOf(error)}`;
  }
}
