import { CancelledFailure, Context } from '@temporalio/activity';
import type { KubeObject, PatchOperation } from '../../api/objects.ts';
import { PoolStatus } from '../../api/pool/pool.ts';
import { ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';
import { claimVersions, hasOnlyReleasedClaims } from '../../decisions/disruption-budget/claims.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { OwnerEvent } from '../../decisions/owners/events.ts';
import { whyUnverified } from '../../decisions/pool/unverified-status.ts';
import type { StoredVmOwner } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { isConflict, isNotFound, KubeError } from '../../kubernetes/errors.ts';
import type { ClusterAccess } from '../cache/access.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { snapshotOf } from '../cache/snapshot.ts';
import { recordEvent } from '../lib/events.ts';
import { kindOfOwner, versionsOf } from './kinds.ts';
import { liveOwner } from './live-owner.ts';
import type { OwnerKey } from './owner-key.ts';
import type { RequestsSeen } from './requests-seen.ts';

/** Written by whatever disrupts the pool's VMs. */
const CLAIMS = 'disruptedVMs';
/**
 * Written only by activities that make VMs other than replicas, and never taken from a caller: VMs are deleted by it.
 */
const ROLES = 'roles';
/** Written by whatever looks at the check of a step, and taken from no caller: by it, steps pass. */
const CHECK = 'check';
const NOT_PLANNED: readonly string[] = [CLAIMS, 'disruptionsSeen', ROLES, CHECK];
const OF_POOLS: string[] = PoolStatus.keyof().options.filter((field) => !NOT_PLANNED.includes(field));
const OF_SETS: string[] = ReplicaSetStatus.keyof().options;

/** How a workflow asks a worker to write the status that it finds. */
export interface StatusRequest {
  /** UID of the owner that the workflow knows; absent before the first plan. */
  uid?: string;
  /** Which of the workflow's turns asks: a status of the same turn is of this plan, whose answer was lost. */
  turn: number;
  /** The status is not to be written yet; absent if it may be. */
  holdsStatus?: true;
}

/** What became of the status that a plan has found. */
export interface StatusWrite {
  /** What a later plan must have seen. */
  minVersions?: ResourceVersions;
  isWritten?: true;
  /** Another worker had written the status by then, or the plan was made for another spec: it was left as it is. */
  isLate?: true;
  /** It was left because the pool does not show what the status is to say, for this reason. */
  refused?: string;
  /** Why it could not be written. */
  failed?: string;
}

/** What a workflow is told of the status of its owner. */
export interface KnownStatus {
  minVersions: ResourceVersions;
  /** Writes of the status that the plan has seen, or has written: perhaps, if that has failed. */
  writes: number;
  written: StatusWrite;
}

type AnyStatus = PoolStatus | ReplicaSetStatus;

interface StatusAccess extends ClusterAccess {
  /** What users have asked of pools; sets are asked nothing. */
  requests?: RequestsSeen;
}

/** What a plan has found, and the owner as it has seen it. */
interface FoundStatus<Status = AnyStatus | null> {
  key: OwnerKey;
  seen: StoredVmOwner;
  /** Null if the stored one is up to date. */
  status: Status;
  /** What the status says that the one before did not. */
  events?: readonly OwnerEvent[] | undefined;
}

/** What a status says of the turn that has written it. */
export const turnOf = ({ turn }: StatusRequest): string =>
  `${Context.current().info.workflowExecution?.runId ?? ''}/${turn}`;

/**
 * Writes the status of a plan, if it has one and may. A failure holds back no step: VMs are made though no status can
 * be written. What a workflow knows of an earlier owner of the name is not written to the next. `reached`: what the
 * plan has seen.
 */
export async function writeFound(
  access: StatusAccess,
  request: StatusRequest,
  reached: ResourceVersions,
  { status, ...found }: FoundStatus,
): Promise<KnownStatus> {
  const { key, seen } = found;
  const { uid = key.uid, holdsStatus } = request;
  const written =
    status === null || holdsStatus === true || uid !== key.uid
      ? {}
      : await writeOwnerStatus(access, { ...found, status: { ...status, turn: turnOf(request) } }).catch(failure);
  const { isWritten, failed, minVersions = {} } = written;
  const { writes = 0 } = seen.status ?? {};
  const isNext = isWritten === true || failed !== undefined;
  return { minVersions: maxVersions(reached, minVersions), writes: isNext ? writes + 1 : writes, written };
}

/** The worker that ends leaves the plan to another. */
function failure(error: unknown): StatusWrite {
  if (error instanceof CancelledFailure) throw error;
  return { failed: (error as Error).message };
}

/**
 * Writes what a plan has found to the status of a pool or a set, `seen`, if that is still the status that the plan has
 * seen: a late write, by a worker that was taken for dead, gives way. Writes nothing that would end a pause, a halt or
 * a step of the pool, unless the pool shows why. Leaves disruption claims as they are, unless all of them are spent: no
 * later plan would write the status for these alone, so they are judged by nothing older than the plan.
 */
export async function writeOwnerStatus(
  { client, cache, requests }: StatusAccess,
  { key, seen, status, events = [] }: FoundStatus<AnyStatus>,
): Promise<StatusWrite> {
  const fields = key.kind === undefined ? OF_POOLS : OF_SETS;
  const write = async (owner: StoredVmOwner): Promise<StatusWrite> => {
    const pool = key.kind === undefined ? (owner as StoredPool) : undefined;
    const message =
      pool === undefined
        ? null
        : whyUnverified({ ...snapshotOf(cache, pool), earlier: requests?.of(key.uid) ?? [], now: Date.now() }, status);
    const isOld = status.observedGeneration !== owner.metadata.generation;
    if (message !== null) return isOld ? late(key, owner) : { ...late(key, owner), refused: message };
    const released = pool === undefined ? undefined : await releasedClaims(cache, pool);
    const path = `/status/${CLAIMS}`;
    const forgets: PatchOperation[] =
      released === undefined
        ? []
        : [
            { op: 'test', path, value: released },
            { op: 'remove', path },
          ];
    // A worker that dies after the write would record none. They have names of the status that they are about: if that
    // is not written, the next try records none twice.
    for (const event of events) await recordEvent(client, key, event, causeOf(key, status, event));
    const test: PatchOperation = { op: 'test', path: '/metadata/uid', value: key.uid };
    const patch = [test, ...changes(fields, owner.status, status), ...forgets];
    return written(key, await client.patch(kindOfOwner(key).resource, key, 'json', patch, { subresource: 'status' }));
  };
  try {
    return await write(seen);
  } catch (error) {
    if (isNotFound(error)) return {};
    if (!isConflict(error) && !(error instanceof KubeError && error.status === 422)) throw error;
  }
  // What the plan has seen may be behind, or the status may be another worker's by now.
  const live = await liveOwner(client, key);
  if (live === undefined) return {};
  if (live.status?.turn === status.turn && live.status?.writes === status.writes) return written(key, live);
  return (live.status?.writes ?? 0) + 1 === status.writes ? write(live) : late(key, live);
}

const causeOf = ({ uid }: OwnerKey, { writes }: AnyStatus, { request }: OwnerEvent): string =>
  [uid, writes, ...(request === undefined ? [] : [request.digest])].join('/');

const written = (key: OwnerKey, { metadata }: KubeObject): StatusWrite => ({
  isWritten: true,
  minVersions: versionsOf(key, metadata.resourceVersion),
});

const late = (key: OwnerKey, { metadata }: StoredVmOwner): StatusWrite => ({
  isLate: true,
  minVersions: versionsOf(key, metadata.resourceVersion),
});

function changes(fields: readonly string[], before: StoredVmOwner['status'], status: AnyStatus): PatchOperation[] {
  if (before === undefined)
    return [
      { op: 'test', path: '/status', value: null },
      {
        op: 'add',
        path: '/status',
        value: Object.fromEntries(fields.map((field) => [field, status[field as keyof AnyStatus]])),
      },
    ];
  const operations = fields.flatMap((field): PatchOperation[] => {
    const path = `/status/${field}`;
    const value = status[field as keyof AnyStatus];
    if (value !== undefined) return [{ op: 'add', path, value }];
    // A field that may be absent can't be removed, so it is added first.
    return [
      { op: 'add', path, value: null },
      { op: 'remove', path },
    ];
  });
  return [{ op: 'test', path: '/status/writes', value: before.writes ?? null }, ...operations];
}

/** Returns the claims in the status of a pool if all of them are spent. */
async function releasedClaims(cache: ClusterCache, pool: StoredPool): Promise<unknown> {
  const claims = pool.status?.disruptedVMs ?? [];
  if (claims.length === 0) return undefined;
  await cache.catchUp(claimVersions(claims), pool.metadata);
  const context = { pool, vms: cache.vms.ownedBy('VirtualMachinePool', pool.metadata), vmiOf: cache.vmiOf.bind(cache) };
  return hasOnlyReleasedClaims(context, Date.now()) ? claims : undefined;
}
