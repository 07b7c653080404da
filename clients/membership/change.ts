import { setTimeout as sleep } from 'node:timers/promises';
import { MEMBERS_MANAGER, MEMBERSHIP_CHANGE_ANNOTATION } from '../../api/names.ts';
import type { Stored } from '../../api/objects.ts';
import type { ConditionReason } from '../../api/reasons.ts';
import { VirtualMachinePools } from '../../api/resources.ts';
import {
  changeAnnotation,
  membershipChangeOf,
  type ChangeKind,
  type ListedChange,
  type MembershipChange,
} from '../../decisions/membership/change.ts';
import { reasonOf } from '../../decisions/membership/condition.ts';
import { countedIn } from '../../decisions/pool/counted.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { Failure } from '../cli/failure.ts';
import { ofKnownKind } from '../cli/known-kind.ts';
import type { Pool } from '../cli/objects.ts';
import { handedOver, type ManagedFields } from '../fields/field-ownership.ts';
import { missingWorkers } from '../session/missing-workers.ts';
import { requestedBy } from '../session/requester.ts';
import type { Session } from '../session/session.ts';
import { controlledBy } from './members.ts';

const PAUSE_MS = 300;
/** Workers write a pool's status often. */
export const TRIES = 20;

export interface PoolAt {
  namespace: string;
  name: string;
}

/** What is written with a change; the rest of it, who and when, is added. */
export type NewChange = Omit<Exclude<MembershipChange, ListedChange>, 'by' | 'at'>;

/** Returns the pool; undefined if there is none. */
export const poolAt = (kube: KubeClient, key: PoolAt): Promise<Stored<Pool> | undefined> =>
  ofKnownKind(VirtualMachinePools, ignoreNotFound(kube.get<Pool>(VirtualMachinePools, key)));

/** Returns the pool. Throws `Failure` if it is being deleted, and the API server's error if there is none. */
export async function poolToChange(kube: KubeClient, key: PoolAt): Promise<Stored<Pool>> {
  const pool = await ofKnownKind(VirtualMachinePools, kube.get<Pool>(VirtualMachinePools, key));
  if (pool.metadata.deletionTimestamp !== undefined) throw new Failure(`pool ${key.name} is being deleted`);
  return pool;
}

/** How a change comes to its end. */
const AGAIN: Record<ChangeKind, string> = {
  takeover: 'run `drover takeover vmpool NAME` again, or `drover release pool NAME` to go back',
  release: 'run `drover release pool NAME` again',
  adopt: 'a worker ends it',
  detach: 'a worker ends it',
};

/** Returns the sentence for a pool on which another command has not ended. */
export function unfinished({ metadata: { name } }: Stored<Pool>, change: MembershipChange | 'unreadable'): Failure {
  if (change === 'unreadable')
    return new Failure(`pool ${name}: its annotation ${MEMBERSHIP_CHANGE_ANNOTATION} can't be read: remove it`);
  const again = AGAIN[change.kind].replace('NAME', name);
  return new Failure(`pool ${name}: a ${change.kind} that ${change.by} began at ${change.at} has not ended: ${again}`);
}

/** RFC 3339, by the API server's clock, whatever this machine's clock says. */
export const serverTime = ({ clock }: Pick<KubeClient, 'clock'>): string => new Date(clock.now()).toISOString();

/**
 * Writes the change on the pool: from then on the pool begins nothing. `changeOf` returns the change for the pool as it
 * is then. `mayFollow`: whether it may take the place of a change that has not ended. Throws `Failure` if it may not.
 */
export async function beginChange(
  kube: KubeClient,
  key: PoolAt,
  changeOf: (pool: Stored<Pool>) => NewChange,
  mayFollow: (other: MembershipChange) => boolean,
): Promise<Stored<Pool>> {
  const by = await requestedBy(async () => kube);
  return retryOnConflict(
    async () => {
      const pool = await poolToChange(kube, key);
      const other = membershipChangeOf(pool);
      if (other !== null && (other === 'unreadable' || !mayFollow(other))) throw unfinished(pool, other);
      const written = { ...changeOf(pool), by, at: serverTime(kube) };
      const patch = {
        metadata: {
          resourceVersion: pool.metadata.resourceVersion,
          annotations: changeAnnotation(written),
          ...(written.kind === 'takeover' ? givenToApply(pool) : {}),
        },
      };
      return kube.patch<Pool>(VirtualMachinePools, key, 'merge', patch, { fieldManager: MEMBERS_MANAGER });
    },
    { tries: TRIES },
  );
}

/**
 * Makes `drover apply` the owner of what a takeover has set as it created the pool, so that the next manifest may
 * change it. What holds the pool stays: no manifest takes that off.
 */
function givenToApply({ metadata }: Stored<Pool>): { managedFields?: ManagedFields[] } {
  const before = (metadata.managedFields ?? []) as ManagedFields[];
  const but = ['metadata', 'annotations', MEMBERSHIP_CHANGE_ANNOTATION];
  const after = handedOver(before, { from: MEMBERS_MANAGER, but });
  return after === before ? {} : { managedFields: after };
}

/** How long to wait for a worker, in milliseconds. */
export interface Patience {
  timeout: number;
}

/**
 * Waits until a worker has finished what the pool had begun, and begins nothing more. Throws `Failure` if it does not.
 */
export const waitUntilHeld = async (
  session: Session,
  key: PoolAt,
  kind: ChangeKind,
  patience: Patience,
): Promise<void> => {
  await until(session, key, patience, async (pool) =>
    said(pool) === reasonOf(kind) ? null : (messageOf(pool) ?? 'its status does not say yet that it begins nothing'),
  );
};

/**
 * Waits until a worker has counted the pool's VMs as they are: a pool that goes on before that would make VMs for those
 * that it has not seen yet. Throws `Failure` if nobody counts in time, or what `keep` throws, once the pool is not held
 * any more.
 */
export const waitUntilCounted = (
  session: Session,
  key: PoolAt,
  patience: Patience,
  keep: () => Promise<unknown>,
): Promise<void> =>
  until(session, key, { ...patience, keep }, async (pool, kube) => {
    const { generation } = pool.metadata;
    const isNew = pool.status?.observedGeneration === generation && said(pool) !== undefined;
    const vms = await controlledBy(kube, VirtualMachinePools, pool);
    const count = vms.filter(countedIn(pool as unknown as StoredPool)).length;
    return isNew && pool.status?.replicas === count ? null : `its status does not count its ${count} VMs yet`;
  });

const conditionOf = ({ status }: Stored<Pool>) => status?.conditions?.find(({ type }) => type === 'MembershipChanging');
const said = (pool: Stored<Pool>): ConditionReason<'MembershipChanging'> | undefined =>
  conditionOf(pool)?.reason as ConditionReason<'MembershipChanging'> | undefined;
const messageOf = (pool: Stored<Pool>): string | undefined => conditionOf(pool)?.message;

async function until(
  session: Session,
  key: PoolAt,
  { timeout, keep }: Patience & { keep?: () => Promise<unknown> },
  whyNot: (pool: Stored<Pool>, kube: KubeClient) => Promise<string | null>,
): Promise<void> {
  const kube = await session.kube();
  const deadline = Date.now() + timeout;
  let version: string | undefined;
  let why: string | null = null;
  do {
    await keep?.();
    const pool = await poolAt(kube, key);
    if (pool === undefined) throw new Failure(`pool ${key.name} is gone`);
    if (pool.metadata.resourceVersion !== version) {
      version = pool.metadata.resourceVersion;
      why = await whyNot(pool, kube);
      if (why === null) return;
    }
    await sleep(PAUSE_MS);
  } while (Date.now() < deadline);
  throw new Failure(
    `pool ${key.name} stays on hold; run this command again to continue: ${(await missingWorkers(session)) ?? why}`,
  );
}
