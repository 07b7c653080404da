import type { PatchOperation } from '../../api/objects.ts';
import { PoolStatus } from '../../api/pool/pool.ts';
import { ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';
import { claimVersions, hasOnlyReleasedClaims } from '../../decisions/disruption-budget/claims.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { OwnerEvent } from '../../decisions/owners/events.ts';
import { whyUnverified } from '../../decisions/pool/unverified-status.ts';
import type { StoredVmOwner } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict, isNotFound, KubeError } from '../../kubernetes/errors.ts';
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

/**
 * What a later plan must have seen. `isLate`: another worker had written the status by then, or its plan was made for
 * another spec, so it was left as it is.
 * `refused`: it was left because the pool does not show what the status is to say, for this reason.
 */
export type WrittenStatus = ResourceVersions & { isLate?: true; refused?: string };

type AnyStatus = PoolStatus | ReplicaSetStatus;

/** What a plan has found. */
interface FoundStatus {
  status: AnyStatus;
  /** What the status says that the one before did not. */
  events?: readonly OwnerEvent[] | undefined;
  /** What the plan has seen. */
  minVersions?: ResourceVersions | undefined;
}

/**
 * Writes what a plan has found to the status of a pool or a set, if that is still the status that the plan has seen: a
 * late write, by a worker that was taken for dead, gives way. Writes nothing that would end a pause, a halt or a step
 * of the pool, unless the pool shows why. Leaves disruption claims as they are, unless all of them are spent: no later
 * plan would write the status for these alone, so they are judged by nothing older than the plan.
 */
export async function writeOwnerStatus(
  client: KubeClient,
  cache: ClusterCache,
  requests: RequestsSeen,
  key: OwnerKey,
  { status, events = [], minVersions = {} }: FoundStatus,
): Promise<WrittenStatus> {
  // They have names of the status that they are about: a worker that finds the status written records them again, once.
  const causeOf = ({ request }: OwnerEvent): string =>
    [key.uid, status.writes, ...(request === undefined ? [] : [request.digest])].join('/');
  const recordEvents = async (): Promise<void> => {
    for (const event of events) await recordEvent(client, key, event, causeOf(event));
  };
  const fields = key.kind === undefined ? OF_POOLS : OF_SETS;
  const write = async (owner: StoredVmOwner): Promise<WrittenStatus> => {
    const pool = key.kind === undefined ? (owner as StoredPool) : undefined;
    const message =
      pool === undefined
        ? null
        : whyUnverified({ ...snapshotOf(cache, pool), earlier: requests.of(key.uid), now: Date.now() }, status);
    const isOld = status.observedGeneration !== owner.metadata.generation;
    if (message !== null)
      return {
        ...versionsOf(key, owner.metadata.resourceVersion),
        ...(isOld ? { isLate: true } : { refused: message }),
      };
    const released = pool === undefined ? undefined : await releasedClaims(cache, pool);
    const path = `/status/${CLAIMS}`;
    const forgets: PatchOperation[] =
      released === undefined
        ? []
        : [
            { op: 'test', path, value: released },
            { op: 'remove', path },
          ];
    const test: PatchOperation = { op: 'test', path: '/metadata/uid', value: key.uid };
    const patch = [test, ...changes(fields, owner.status, status), ...forgets];
    const written = await client.patch(kindOfOwner(key).resource, key, 'json', patch, {
      subresource: 'status',
    });
    await recordEvents();
    return versionsOf(key, written.metadata.resourceVersion);
  };
  const isNext = (before: StoredVmOwner): boolean => (before.status?.writes ?? 0) + 1 === status.writes;
  try {
    await cache.catchUp(minVersions, key);
    const known = cache[kindOfOwner(key).cache].get(`${key.namespace}/${key.name}`);
    if (known?.metadata.uid === key.uid && isNext(known)) return await write(known);
  } catch (error) {
    if (isNotFound(error)) return {};
    if (!isConflict(error) && !(error instanceof KubeError && error.status === 422)) throw error;
  }
  // The cache may be behind, or the status may be another worker's by now.
  const live = await liveOwner(client, key);
  if (live === undefined) return {};
  if (live.status?.writes === status.writes) await recordEvents();
  return isNext(live) ? write(live) : { ...versionsOf(key, live.metadata.resourceVersion), isLate: true };
}

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
