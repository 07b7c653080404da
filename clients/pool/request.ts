import { randomUUID } from 'node:crypto';
import { REQUESTS_MANAGER } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import type { HandledRequest } from '../../api/pool/pool.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import { answerTo, digestOf, requestText, type RequestNames } from '../../decisions/owners/request.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { Failure } from '../cli/failure.ts';
import { whenInterrupted } from '../cli/interrupted.ts';
import { Pools } from '../cli/kinds.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { ageOf } from '../cli/print.ts';
import { followOwners, inTime } from '../cli/watch-until.ts';
import { userOf } from '../session/requester.ts';
import type { Session } from '../session/session.ts';

/** How long a worker may take to answer a request that it only has to look at. */
const ANSWERED_WITHIN_MS = 10_000;
const PAUSE_MS = 100;

/** What one may ask of a part of a pool: which annotations it reads, and where in the status it answers. */
export interface RequestChannel {
  names: RequestNames;
  handledIn: (pool: Pool) => readonly HandledRequest[] | undefined;
  /** Whether a request takes a while: it never replaces another, not even of the same user that is late. */
  isOneAtATime?: true;
}

interface PoolRequest extends RequestChannel {
  /** What is asked for, with its `action`. */
  body: object;
  /** What the pool is asked to do, as a verb. */
  what: string;
}

export interface RequestOptions {
  reason?: string | undefined;
  dryRun: DryRun;
  /** How long a worker may take to answer, in milliseconds. */
  timeout?: number;
}

/** The pool that answers, and its answer; in a dry run, the pool as it was. */
export interface Answered {
  pool: Stored<Pool>;
  answer: HandledRequest | null;
}

/**
 * Writes a request on the pool, and returns the answer once its status has one. Throws `Failure` if the request is
 * refused, or not answered in time.
 */
export async function requestOfPool(
  session: Session,
  pool: Stored<Pool>,
  request: PoolRequest,
  { reason, dryRun, timeout = ANSWERED_WITHIN_MS }: RequestOptions,
): Promise<Answered> {
  if (dryRun === 'client') return { pool, answer: null };
  const kube = await session.kube();
  const text = requestText({ id: randomUUID(), ...request.body, ...(reason === undefined ? {} : { reason }) });
  const by = await userOf(kube);
  const written = await retryOnConflict(
    async (tries) => {
      const current = tries === 1 ? pool : await kube.get<Pool>(VirtualMachinePools, keyOf(pool));
      const free = await untilFree(kube, current, request, { by, timeout });
      return write(kube, free, request, { text, by, dryRun: dryRun === 'server' });
    },
    { pauseMs: () => PAUSE_MS },
  );
  if (dryRun === 'server') return { pool, answer: null };
  return untilAnswered(kube, written, request, { digest: digestOf(text), timeout });
}

const keyOf = ({ metadata: { namespace = '', name } }: Stored<Pool>): { namespace: string; name: string } => ({
  namespace,
  name,
});

/** Writes on the version of the pool that was read: of two who ask at once, the second looks again. */
function write(
  kube: KubeClient,
  pool: Stored<Pool>,
  { names }: PoolRequest,
  { text, by, dryRun }: { text: string; by: string; dryRun: boolean },
): Promise<Stored<Pool>> {
  const { uid, resourceVersion } = pool.metadata;
  const annotations = { [names.request]: text, [names.requestedBy]: by };
  const patch = { metadata: { uid, resourceVersion, annotations } };
  return kube.patch<Pool>(VirtualMachinePools, keyOf(pool), 'merge', patch, {
    dryRun,
    fieldManager: REQUESTS_MANAGER,
  });
}

/** The request that stands on the pool without an answer. */
export function unanswered(pool: Pool, { names, handledIn }: RequestChannel): { by: string } | undefined {
  const { [names.request]: text = '', [names.requestedBy]: by = 'unknown' } = pool.metadata.annotations ?? {};
  return text === '' || answerTo(digestOf(text), handledIn(pool)) !== undefined ? undefined : { by };
}

/** Waits until no request waits for its answer that would be lost: users replace their own only if that is late. */
async function untilFree(
  kube: KubeClient,
  pool: Stored<Pool>,
  request: PoolRequest,
  { by, timeout }: { by: string; timeout: number },
): Promise<Stored<Pool>> {
  return followPool(
    { kube, pool, timeout },
    (now) => unanswered(now, request) === undefined,
    (last) => {
      const whose = unanswered(last, request)?.by;
      if (whose === by && request.isOneAtATime !== true) return null;
      const { name } = last.metadata;
      const why = `no worker has answered what ${whose} asked before; ${cancelHint(last, request)}`;
      return `pool ${name} was not asked to ${request.what}: ${why}`;
    },
  );
}

/** Throws `Failure` if the request is refused, replaced or taken back, or not answered in time. */
async function untilAnswered(
  kube: KubeClient,
  pool: Stored<Pool>,
  request: PoolRequest,
  { digest, timeout }: { digest: string; timeout: number },
): Promise<Answered> {
  const { names, handledIn, what } = request;
  const { name } = pool.metadata;
  const isAnswered = (now: Stored<Pool>): boolean => {
    if (answerTo(digest, handledIn(now)) !== undefined) return true;
    const { [names.request]: text = '', [names.requestedBy]: by = 'unknown' } = now.metadata.annotations ?? {};
    if (digestOf(text) === digest) return false;
    const how = text === '' ? 'it was withdrawn' : `a request of ${by} has replaced it`;
    throw new Failure(`pool ${name} was asked to ${what}, but ${how} before a worker saw it`);
  };
  const within = `${timeout / 1000} s`;
  using _ = whenInterrupted(
    () => `pool ${name} is asked to ${what}, and no worker has answered yet; ${cancelHint(pool, request)}`,
  );
  const answered = await followPool(
    { kube, pool, timeout },
    isAnswered,
    (last) =>
      `pool ${name} is asked to ${what}, but no worker has answered within ${within}: ` +
      `one does as soon as it runs; ${cancelHint(last, request)}`,
  );
  const answer = answerTo(digest, handledIn(answered))!;
  if (answer.outcome !== 'Done')
    throw new Failure(`pool ${name} was asked to ${what}, and does not: ${answer.message}`);
  return { pool: answered, answer };
}

const cancelHint = ({ metadata: { namespace, name } }: Stored<Pool>, { names: { request } }: PoolRequest): string =>
  `\`kubectl annotate dpool ${name} -n ${namespace} ${request}-\` takes it back`;

/** Returns the pool once `isEnough`. Throws a `Failure` of these words if it is not in time; null: it is returned. */
export async function followPool(
  { kube, pool, timeout: ms }: { kube: KubeClient; pool: Stored<Pool>; timeout: number },
  isEnough: (now: Stored<Pool>) => boolean,
  late: (last: Stored<Pool>) => string | null | Promise<string>,
): Promise<Stored<Pool>> {
  let last = pool;
  const isInTime = await inTime(ms, (signal) =>
    followOwners({ kube, kind: Pools, owners: [pool], signal }, ([now]) => {
      last = now!;
      return isEnough(last);
    }),
  );
  const why = isInTime ? null : await late(last);
  if (why !== null) throw new Failure(why);
  return last;
}

/** Returns for example `ada@desk 3m ago: lunch`. */
export const since = ({ by, at, reason }: { by: string; at: string | null; reason: string | null }): string =>
  `${by}${at === null ? '' : ` ${ageOf(at)} ago`}${reason === null ? '' : `: ${reason}`}`;
