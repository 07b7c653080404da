import { CancelledFailure, Context } from '@temporalio/activity';
import type { KubeObject, PatchOperation } from '../../api/objects.ts';
import { PoolStatus } from '../../api/pool/pool.ts';
import { ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';
import { claimVersions, hasOnlyReleasedClaims } from '../../decisions/disruption-budget/claims.ts';
import { saysTheSame } from '../../decisions/lib/canonical-json.ts';
import { pick } from '../../decisions/lib/json.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { OwnerEvent } from '../../decisions/owners/events.ts';
import type { StoredVmOwner } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { isConflict, isNotFound, KubeError } from '../../kubernetes/errors.ts';
import type { ClusterAccess } from '../cache/access.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { recordEvent } from '../lib/events.ts';
import { kindOfOwner, versionsOf } from './kinds.ts';
import { liveOwner } from './live-owner.ts';
import type { OwnerKey } from './owner-key.ts';

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
  /** Which of the workflow's turns asks. */
  turn: number;
  /** What is not to be written yet: reports, which may wait for the next turn, or all; absent if all may be. */
  holdsStatus?: 'Reports' | 'All';
  /** If others have written the status since the last plan, it is left as it is. */
  yieldsToOthers?: boolean;
}

/** What became of the status that a plan has found. */
export interface StatusWrite {
  /** What a later plan must have seen. */
  minVersions?: ResourceVersions;
  isWritten?: true;
  /** The status, or the spec, was another by then: it was left as it is. */
  isLate?: true;
  /** Why it could not be written. */
  failed?: string;
}

/** What a workflow is told of the status of its owner. */
export interface KnownStatus {
  minVersions: ResourceVersions;
  /** Writes of the status that the plan has seen or made. */
  writes: number;
  written: Omit<StatusWrite, 'minVersions'>;
  /** Whether the status records all that the plan decides from: no step that rests on its record begins otherwise. */
  isRecorded: boolean;
  /** Another workflow has written the status since the last plan; absent if none has. */
  isForeign?: true;
}

type AnyStatus = PoolStatus | ReplicaSetStatus;

/** What a plan has found, and the owner as it has seen it. */
interface FoundStatus<Status = AnyStatus | null> {
  key: OwnerKey;
  seen: StoredVmOwner;
  /** Null if the stored one is up to date. */
  status: Status;
  /** What the status says that the one before did not. */
  events?: readonly OwnerEvent[] | undefined;
}

/** What of a status decides what may begin: all else reports what objects show as well. */
const RECORD: (keyof PoolStatus)[] = ['rollout', 'healing', 'membership', 'currentRevision'];

/** Whether a status records something else than the one before. */
export const changesRecord = (before: Partial<PoolStatus>, after: Partial<PoolStatus>): boolean =>
  !saysTheSame(pick(before, RECORD), pick(after, RECORD));

/**
 * Writes the status of a plan, if it has one and may. A failure holds back only steps that rest on the record. What a
 * workflow knows of an earlier owner of the name is not written to the next. `reached`: what the plan has seen.
 */
export async function writeFound(
  access: ClusterAccess,
  request: StatusRequest & { writes?: number },
  reached: ResourceVersions,
  { status, ...found }: FoundStatus,
): Promise<KnownStatus> {
  const { key, seen } = found;
  const { uid = key.uid } = request;
  const { writes = 0, turn: last = '' } = seen.status ?? {};
  const run = Context.current().info.workflowExecution?.runId ?? '';
  const turn = `${run}/${request.turn}`;
  const isForeign = writes > (request.writes ?? writes) && !last.startsWith(`${run}/`);
  const isRecordChanged = status !== null && changesRecord(seen.status ?? {}, status);
  const isHeld = uid !== key.uid || holds(request, { isForeign, isRecordChanged });
  const { minVersions = {}, ...written }: StatusWrite =
    status === null || isHeld
      ? {}
      : await writeOwnerStatus(access, { ...found, status: { ...status, turn } }).catch(failure);
  return {
    minVersions: maxVersions(reached, minVersions),
    writes: written.isWritten === true ? writes + 1 : writes,
    written,
    isRecorded: !isRecordChanged || written.isWritten === true,
    ...(isForeign && { isForeign }),
  };
}

const holds = (
  { holdsStatus, yieldsToOthers }: StatusRequest,
  { isForeign, isRecordChanged }: { isForeign: boolean; isRecordChanged: boolean },
): boolean =>
  holdsStatus === 'All' || (holdsStatus === 'Reports' && !isRecordChanged) || (yieldsToOthers === true && isForeign);

/** The worker that ends leaves the plan to another. */
function failure(error: unknown): StatusWrite {
  if (error instanceof CancelledFailure) throw error;
  return { failed: (error as Error).message };
}

/**
 * Writes what a plan has found to the status of a pool or a set, if status and spec are still as the plan has `seen`
 * them: a late write, by a worker that was taken for dead, gives way. Leaves disruption claims as they are, unless all
 * of them are spent: no later plan would write the status for these alone, so nothing older than the plan judges them.
 */
export async function writeOwnerStatus(
  { client, cache }: ClusterAccess,
  { key, seen, status, events = [] }: FoundStatus<AnyStatus>,
): Promise<StatusWrite> {
  const fields = key.kind === undefined ? OF_POOLS : OF_SETS;
  const write = async (owner: StoredVmOwner): Promise<StatusWrite> => {
    const released = key.kind === undefined ? await releasedClaims(cache, owner as StoredPool) : undefined;
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
    const tests: PatchOperation[] = [
      { op: 'test', path: '/metadata/uid', value: key.uid },
      { op: 'test', path: '/metadata/generation', value: status.observedGeneration },
    ];
    const patch = [...tests, ...changes(fields, owner.status, status), ...forgets];
    return written(key, await client.patch(kindOfOwner(key).resource, key, 'json', patch, { subresource: 'status' }));
  };
  try {
    return await write(seen);
  } catch (error) {
    if (isNotFound(error)) return {};
    if (!isConflict(error) && !(error instanceof KubeError && error.status === 422)) throw error;
  }
  // Claims change the status, too.
  const live = await liveOwner(client, key);
  if (live === undefined) return {};
  const isSame = (live.status?.writes ?? 0) + 1 === status.writes;
  return isSame && live.metadata.generation === status.observedGeneration ? write(live) : late(key, live);
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
