import type { Stored } from '../../api/objects.ts';
import { Failure, sentenceOf } from '../cli/failure.ts';
import { Pools } from '../cli/kinds.ts';
import { ageOf } from '../cli/output.ts';
import type { DryRun } from '../cli/values.ts';
import { followOwners } from '../owners/follow-owners.ts';
import { missingWorkers } from '../session/missing-workers.ts';
import { requestedBy } from '../session/requester.ts';
import { ensureSameCluster } from '../session/same-cluster.ts';
import type { Session } from '../session/session.ts';
import { aboutSetup } from '../session/temporal.ts';
import { unknownCluster } from '../session/unknown-cluster.ts';
import type { Pool } from './objects.ts';

/** How long a pool's status may take to show that a signal was handled. */
const HANDLED_WITHIN_MS = 10_000;

/** A request to a pool's workflow. */
export interface PoolRequest {
  signal: 'pause' | 'resume' | 'abort' | 'promote' | 'healPause' | 'healResume' | 'healNow' | 'healSkip';
  /** Sent with the signal, beside who asks and why. */
  more?: { full: boolean } | { vm: string } | undefined;
  /** What it is asked to do, as a verb. */
  what: string;
  /** Reports whether the pool's status shows that the request was handled. */
  isHandled: (now: Stored<Pool>) => boolean;
}

/**
 * Asks the pool's workflow, which is started if none runs. Returns the pool as soon as its status shows that the
 * request was handled; in a dry run, the pool as it was. Throws `Failure` if the workflow can't be asked, or the status
 * shows nothing in time.
 */
export async function requestOfPool(
  session: Session,
  pool: Stored<Pool>,
  { signal, more, what, isHandled }: PoolRequest,
  { reason, dryRun }: { reason?: string | undefined; dryRun: DryRun },
): Promise<Stored<Pool>> {
  if (dryRun === 'client') return pool;
  const [signals, { signalOwner }, { client }] = await Promise.all([
    import('../../workflows/messages.ts'),
    import('../../workers/watch/signal-owner.ts'),
    session.temporal(),
  ]);
  await ensureWatched(session);
  if (dryRun === 'server') return pool;
  const payload = {
    by: await requestedBy(() => session.kube()),
    ...(reason === undefined ? {} : { why: reason }),
    ...more,
  };
  const { namespace = '', name } = pool.metadata;
  const ref = { cluster: session.cluster, namespace, name };
  await signalOwner(client, 'VirtualMachinePool', ref, { signal: signals[signal], payload }).catch((error: unknown) => {
    throw new Failure(`pool ${name} could not be asked to ${what}: ${sentenceOf(aboutSetup(error))}`, { cause: error });
  });
  return waitUntilHandled(session, pool, what, isHandled);
}

/**
 * Throws `Failure` if no worker acts on this cluster, or workers of its name act on another. A watch that somebody has
 * ended is started again as long as a worker runs.
 */
async function ensureWatched(session: Session): Promise<void> {
  await ensureSameCluster(session);
  const unknown = await unknownCluster(session);
  if (unknown !== undefined && (await missingWorkers(session)) !== undefined) throw new Failure(unknown);
}

/**
 * Returns the pool as soon as its status shows that the request was handled. Throws `Failure` if nothing shows in time.
 * `what`: what the pool was asked to do, as a verb.
 */
async function waitUntilHandled(
  session: Session,
  pool: Stored<Pool>,
  what: string,
  isHandled: (now: Stored<Pool>) => boolean,
): Promise<Stored<Pool>> {
  const timeout = AbortSignal.timeout(HANDLED_WITHIN_MS);
  let last = pool;
  try {
    await followOwners({ kube: await session.kube(), kind: Pools, owners: [pool], signal: timeout }, ([now]) => {
      last = now!;
      return isHandled(last);
    });
  } catch (error) {
    if (!timeout.aborted) throw error;
    const why = `its workflow received the signal, but its status does not show it after ${HANDLED_WITHIN_MS / 1000} s`;
    throw await notKnown(session, pool, what, { why, cause: error });
  }
  return last;
}

/** `why`: used unless no worker runs, which is reason enough. */
async function notKnown(
  session: Session,
  { metadata: { name } }: Stored<Pool>,
  what: string,
  { why, cause }: { why: string; cause: unknown },
): Promise<Failure> {
  const because = (await missingWorkers(session)) ?? why;
  return new Failure(`pool ${name} was asked to ${what}, but it is unknown whether it did: ${because}`, { cause });
}

/** Returns for example `ada@desk 3m ago: lunch`. */
export const since = ({ by, at, why }: { by: string; at: string | null; why: string | null }): string =>
  `${by}${at === null ? '' : ` ${ageOf(at)} ago`}${why === null ? '' : `: ${why}`}`;
