import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { KUBERNETES_EVENTS } from '../../api/notifications/types.ts';
import { notificationsIdOf, notificationsProgress, tryReceivers } from '../../workflows/lib/messages.ts';
import { lookUntil } from '../cli/watch-until.ts';
import type { Session } from '../session/session.ts';
import { workersIn } from '../session/workers.ts';
import { ok, unknown, warning, type Found, type Looked } from './finding.ts';

/** A receiver that has not taken anything for this long may be gone. */
const LATE_MS = 5 * 60_000;
/** Receivers have ten seconds to answer. */
const TRIED_WITHIN_MS = 20_000;
const LOOK_MS = 250;

/** Looks whether receivers take what they are told. `send`: send each of them an event that says nothing. */
export async function lookAtNotifications(session: Session, send: boolean): Promise<Looked> {
  const { client } = await session.temporal();
  const cluster = await workersIn(session);
  const found = [await lateIn(client, cluster), send ? await tryAll(client, cluster) : []].flat();
  if (found.length > 0) return found;
  return ok('no receiver keeps notifications waiting; --send sends each an event that says nothing');
}

async function lateIn(client: Client, cluster: string): Promise<Found[]> {
  const handle = client.workflow.getHandle(notificationsIdOf(cluster));
  const running = await handle.describe().catch((error: unknown) => {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  });
  if (running?.status.name !== 'RUNNING') return [];
  const { waiting } = await handle.query(notificationsProgress);
  const failures = (running.raw.pendingActivities ?? []).map(({ lastFailure }) => lastFailure?.message ?? '');
  return waiting
    .filter(({ since }) => Date.now() - Date.parse(since) > LATE_MS)
    .map(({ receiver, count, since }) => {
      const message = failures.find((message) => message.startsWith(`receiver ${receiver}:`));
      return warning(
        `receiver ${receiver} has not taken ${count} notifications since ${since}${message === undefined ? '' : `: ${message}`}`,
        receiver === KUBERNETES_EVENTS
          ? "see the workers' logs: they may lack the right to create Events"
          : 'fix the receiver, or the file that DROVER_WEBHOOKS names: docs/notifications.md',
      );
    });
}

async function tryAll(client: Client, cluster: string): Promise<Looked> {
  const id = randomUUID();
  const { signalWithStart } = await import('../../workers/watch/workflow-signals.ts');
  await signalWithStart(client, 'notice', { cluster, key: 'notices' }, tryReceivers, id);
  const handle = client.workflow.getHandle(notificationsIdOf(cluster));
  const look = async (): Promise<Record<string, string> | undefined> => {
    const { tried } = await handle.query(notificationsProgress);
    return tried?.id === id ? tried.results : undefined;
  };
  const results = await lookUntil(look, { withinMs: TRIED_WITHIN_MS, everyMs: LOOK_MS });
  if (results === undefined) return unknown('no worker has tried the receivers in time');
  const receivers = Object.entries(results);
  if (receivers.length === 0) return ok('the workers have no receivers: docs/notifications.md');
  return receivers.map(([name, message]) =>
    message === ''
      ? ok(`receiver ${name} has taken an event that says nothing`)
      : warning(
          `receiver ${name} has not taken an event that says nothing: ${message}`,
          'fix it: docs/notifications.md',
        ),
  );
}
