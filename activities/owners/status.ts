import { cancellationSignal } from '@temporalio/activity';
import type { Stored } from '../../api/objects.ts';
import { PoolStatus } from '../../api/pool/pool.ts';
import { ReplicaSetStatus } from '../../api/replica-set/replica-set.ts';
import { claimVersions, hasOnlyReleasedClaims } from '../../decisions/disruption-budget/claims.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { OwnerEvent } from '../../decisions/owners/events.ts';
import type { StoredVmOwner } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict, isNotFound, KubeError } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { recordEvent } from '../lib/events.ts';
import { kindOfOwner, versionsOf } from './kinds.ts';
import { liveOwner } from './live-owner.ts';
import type { OwnerKey } from './types.ts';

/** Written by whatever disrupts the pool's VMs. */
const CLAIMS = 'disruptedVMs';
/** Written by whatever makes VMs that are no replicas, and taken from no caller: by it, VMs are deleted. */
const ROLES = 'roles';
const NOT_PLANNED: readonly string[] = [CLAIMS, 'disruptionsSeen', ROLES];
const OF_POOLS: string[] = PoolStatus.keyof().options.filter((field) => !NOT_PLANNED.includes(field));
const OF_SETS: string[] = ReplicaSetStatus.keyof().options;

/**
 * What a later plan must have seen. `isLate`: another worker had written the status by then, so it was left as it is.
 */
export type WrittenStatus = ResourceVersions & { isLate?: true };

type Operation = { op: 'test' | 'add'; path: string; value: unknown } | { op: 'remove'; path: string };

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
 * late write, by a worker that was taken for dead, gives way. Leaves disruption claims as they are, unless all of them
 * are spent: no later plan would write the status for these alone, so they are judged by nothing older than the plan.
 */
export async function writeOwnerStatus(
  client: KubeClient,
  cache: ClusterCache,
  key: OwnerKey,
  { status, events = [], minVersions = {} }: FoundStatus,
): Promise<WrittenStatus> {
  // They have names of the status that they are about: whoever finds it written records them again, and once.
  const causeOf = ({ request }: OwnerEvent): string =>
    [key.uid, status.writes, ...(request === undefined ? [] : [request.digest])].join('/');
  const tell = async (): Promise<void> => {
    for (const event of events) await recordEvent(client, { metadata: key }, event, key.kind, causeOf(event));
  };
  const fields = key.kind === undefined ? OF_POOLS : OF_SETS;
  const write = async (owner: StoredVmOwner | undefined): Promise<Stored | undefined> => {
    const pool = key.kind === undefined ? (owner as StoredPool | undefined) : undefined;
    const released = pool === undefined ? undefined : await releasedClaims(cache, pool);
    const path = `/status/${CLAIMS}`;
    const forgets: Operation[] =
      released === undefined
        ? []
        : [
            { op: 'test', path, value: released },
            { op: 'remove', path },
          ];
    const test: Operation = { op: 'test', path: '/metadata/uid', value: key.uid };
    const patch = [test, ...changes(fields, owner?.status, status), ...forgets];
    return client.patch(kindOfOwner(key).resource, key, 'json', patch, {
      subresource: 'status',
      signal: cancellationSignal(),
    });
  };
  try {
    await cache.catchUp(minVersions);
    const written = await write(cache[kindOfOwner(key).cache].get(`${key.namespace}/${key.name}`));
    await tell();
    return versionsOf(key, written?.metadata.resourceVersion);
  } catch (error) {
    if (isNotFound(error)) return {};
    if (!isConflict(error) && !(error instanceof KubeError && error.status === 422)) throw error;
    // The cache may be behind, or the status may be another worker's by now.
    const live = await liveOwner(client, key, cancellationSignal());
    if (live === undefined) return {};
    if (status.writes !== undefined && live.status?.writes === status.writes) await tell();
    const isOther = status.writes !== undefined && (live.status?.writes ?? 0) + 1 !== status.writes;
    if (isOther) return { ...versionsOf(key, live.metadata.resourceVersion), isLate: true };
    const written = await write(live);
    await tell();
    return versionsOf(key, written?.metadata.resourceVersion);
  }
}

function changes(fields: readonly string[], before: StoredVmOwner['status'], status: AnyStatus): Operation[] {
  if (before === undefined)
    return [
      { op: 'test', path: '/status', value: null },
      {
        op: 'add',
        path: '/status',
        value: Object.fromEntries(fields.map((field) => [field, status[field as keyof AnyStatus]])),
      },
    ];
  const operations = fields.flatMap((field): Operation[] => {
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
  await cache.catchUp(claimVersions(claims));
  const context = { pool, vms: cache.vms.ownedBy('VirtualMachinePool', pool.metadata), vmiOf: cache.vmiOf.bind(cache) };
  return hasOnlyReleasedClaims(context, Date.now()) ? claims : undefined;
}
