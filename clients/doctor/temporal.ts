import { Connection, type ConnectionOptions, type WorkflowHandle } from '@temporalio/client';
import { portionsOf } from '../../decisions/shards/portion.ts';
import { taskQueueOf, watchIdOf } from '../../workflows/lib/messages.ts';
import { sentenceOf } from '../cli/failure.ts';
import type { Session } from '../session/session.ts';
import { GrpcCode, grpcCodeOf, type Temporal } from '../session/temporal.ts';
import { workersIn } from '../session/workers.ts';
import { missingSearchAttributes } from '../setup/search-attributes.ts';
import { temporalOf } from '../version/versions.ts';
import { DEADLINE_MS, failed, ok, unknown, warning, type Found, type Looked } from './finding.ts';

/** Throws if Temporal does not answer. */
export async function lookAtTemporal(session: Session): Promise<Found> {
  const { connection, address, namespace } = await session.temporal();
  const where = `Temporal ${await temporalOf(session)} at ${address}`;
  let days: number;
  try {
    const described = within(connection, () => connection.workflowService.describeNamespace({ namespace }));
    const { config } = await session.untilAnswered(described);
    days = Math.round(Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) / 86_400);
  } catch (error) {
    if (grpcCodeOf(error) !== GrpcCode.NOT_FOUND) throw error;
    return failed(
      `${where} has no namespace ${namespace}`,
      `create it with \`temporal operator namespace create --namespace ${namespace}\`, or give another with --temporal-namespace`,
    );
  }
  return ok(
    `${where} has namespace ${namespace}, which keeps ended workflows for ${days} ${days === 1 ? 'day' : 'days'}`,
  );
}

export async function lookAtSearchAttributes(temporal: Temporal): Promise<Found> {
  const missing = await missingSearchAttributes(temporal);
  if (missing.length === 0) return ok(`Temporal's namespace ${temporal.namespace} knows drover's search attributes`);
  return failed(
    `Temporal's namespace ${temporal.namespace} lacks the search attributes ${missing.map(({ name }) => name).join(', ')}`,
    'run `drover setup`',
  );
}

/** Asks Temporal for its namespaces without any credentials, as every caller who reaches its port can. */
export async function lookAtDoor({ address, tls }: Temporal): Promise<Found> {
  const stranger: ConnectionOptions = {
    address,
    connectTimeout: DEADLINE_MS,
    ...(tls ? { tls: serverOnly(tls) } : {}),
  };
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect(stranger);
    const { workflowService } = connection;
    await within(connection, () => workflowService.listNamespaces({ pageSize: 1 }));
  } catch (error) {
    return ok(`Temporal refuses callers without credentials (${sentenceOf(error)})`);
  } finally {
    await connection?.close();
  }
  return warning(
    `Temporal at ${address} answers all callers that reach its port: they can end workflows, and read what these know of VMs`,
    'let only workers, operators and the Web UI reach it (a NetworkPolicy), and have it ask for certificates or tokens: docs/security.md',
  );
}

/** Trusts the same server, and shows no certificate. */
const serverOnly = (tls: NonNullable<ConnectionOptions['tls']>): NonNullable<ConnectionOptions['tls']> => {
  if (tls === true) return true;
  const { clientCertPair: _, ...server } = tls as { clientCertPair?: unknown };
  return server;
};

const within = <T>(connection: Connection, query: () => Promise<T>): Promise<T> =>
  connection.withDeadline(Date.now() + DEADLINE_MS, query);

/** Looks whether the workflow that watches the cluster runs, is about this cluster, and has a worker. */
export async function lookAtWatch(session: Session): Promise<Looked> {
  const { client } = await session.temporal();
  const cluster = await workersIn(session);
  const [{ watchedCluster }, { ensureSameCluster }, { readFailure }] = await Promise.all([
    import('../../workers/watch/cluster-watch.ts'),
    import('../session/same-cluster.ts'),
    import('../../workers/connection/read-failure.ts'),
  ]);
  const id = watchIdOf(cluster);
  const watched = await watchedCluster(client, cluster);
  if (watched === undefined)
    return failed(
      `no workflow ${id} runs in Temporal: changes in the cluster go unnoticed`,
      'run `drover setup`, or start a worker, which starts it, too; if the name is wrong, give another with --cluster',
    );
  try {
    await ensureSameCluster(session, cluster);
  } catch (error) {
    return failed(sentenceOf(error), 'give the name of this cluster with --cluster, or DROVER_CLUSTER');
  }
  const { raw } = await client.workflow.getHandle(id).describe();
  // The workflow begins one for each portion, in this order.
  const activities = (raw.pendingActivities ?? []).toSorted((a, b) => Number(a.activityId) - Number(b.activityId));
  const portions = portionsOf(watched?.shards ?? 1);
  return Promise.all(
    portions.map(async (portion, index) => {
      const activity = activities[index];
      const failure = await readFailure(client, activity?.lastFailure);
      const lastFailure = failure === undefined ? null : { message: failure.message };
      const found = activity && { ...activity, lastFailure };
      const { shard } = portion;
      return watchFound(id, taskQueueOf(cluster, portion), found, shard === undefined ? undefined : `shard ${shard}`);
    }),
  );
}

type PendingActivity = NonNullable<Awaited<ReturnType<WorkflowHandle['describe']>>['raw']['pendingActivities']>[number];

/** Temporal keeps the failure of the attempt before for as long as an attempt runs, which may be for months. */
export function watchFound(
  id: string,
  taskQueue: string,
  activity: PendingActivity | undefined,
  what = 'the cluster',
): Found {
  const failure = activity?.lastFailure?.message;
  if (failure && !isWatching(activity))
    return warning(
      `workflow ${id} runs, and its last attempt to watch has failed: ${failure}`,
      "see the workers' logs",
    );
  const by = activity?.lastWorkerIdentity;
  if (!by) return unknown(`workflow ${id} runs, and no worker watches yet: task queue ${taskQueue}`);
  return ok(`workflow ${id} runs, and worker ${by} watches ${what}`);
}

/** `PENDING_ACTIVITY_STATE_STARTED`. */
const STARTED = 2;

/** A worker that has lost the API server gives up before its first heartbeat. */
const isWatching = ({ state, lastHeartbeatTime, lastStartedTime }: PendingActivity): boolean =>
  Number(state) === STARTED && Number(lastHeartbeatTime?.seconds ?? 0) > Number(lastStartedTime?.seconds ?? 0);
