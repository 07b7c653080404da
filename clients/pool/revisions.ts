import { POOL_LABEL } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { identityOf, isControlledBy } from '../../api/owner-references.ts';
import { ControllerRevisions, VirtualMachinePools } from '../../api/resources.ts';
import { revisionView, type ControllerRevision } from '../../decisions/from-object/revision.ts';
import type { PoolTemplate } from '../../decisions/template/template.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure } from '../cli/failure.ts';
import type { ManagedFields } from '../fields/field-ownership.ts';

/** A current or earlier template of a pool, as its ControllerRevision keeps it. */
export interface Revision {
  /** Highest for the newest revision. */
  number: number;
  /** Hash of the template, as on VMs created from it. */
  hash: string;
  template: PoolTemplate;
  createdAt: string;
  /** When it was last made the newest, which is when it was requested by whom and why as below. */
  usedAt: string;
  requestedBy: string | null;
  changeCause: string | null;
}

/** What is to be shown of it. */
export type RevisionRecord = Omit<Revision, 'template' | 'usedAt'>;

/** Reads the revisions that the pool owns, the oldest first. */
export async function readRevisions(kube: KubeClient, pool: Stored<Pool>): Promise<Revision[]> {
  const { namespace, name } = pool.metadata;
  const labelSelector = `${POOL_LABEL}=${name}`;
  const { items } = await kube.list<ControllerRevision>(ControllerRevisions, { namespace, labelSelector });
  return items
    .filter((item) => isControlledBy(item, VirtualMachinePools, identityOf(pool)))
    .flatMap(revisionIn)
    .sort((a, b) => a.number - b.number);
}

/** As `readRevisions`, if only numbers are needed: empty if they can't be read, and users see hashes then. */
export const knownRevisions = (kube: KubeClient, pool: Stored<Pool>): Promise<Revision[]> =>
  readRevisions(kube, pool).catch(() => []);

/** Null for an object that is not as drover writes them. */
export function recordOf(object: Stored<ControllerRevision>): RevisionRecord | null {
  const [found] = revisionIn(object);
  if (found === undefined) return null;
  const { template: _template, usedAt: _usedAt, ...record } = found;
  return record;
}

/** Empty for an object that is not as drover writes them: no VM is made from it either. */
function revisionIn(object: Stored<ControllerRevision>): Revision[] {
  const view = revisionView(object);
  if (view === null) return [];
  const { number, revision: hash, template, requestedBy, changeCause } = view;
  const { creationTimestamp: createdAt, managedFields = [] } = object.metadata;
  const usedAt = (managedFields as ManagedFields[]).map(({ time = '' }) => time).reduce(later, createdAt);
  return [{ number, hash, template, createdAt, usedAt, requestedBy, changeCause }];
}

const later = (a: string, b: string): string => (a > b ? a : b);

/** `4 (a1b2c3d4e5)`, or only the hash if the number is unknown. */
export const formatRevision = ({ number, hash }: { number: number | null; hash: string }): string =>
  number === null ? hash : `${number} (${hash})`;

/** Finds the revision with this number or hash. Throws a `Failure` that lists those there are. */
export function findRevision<R extends RevisionRecord>(revisions: readonly R[], arg: string, pool: string): R {
  // A hash may be all digits, but it is longer than any number.
  const found = revisions.find(({ hash }) => hash === arg) ?? revisions.find(({ number }) => String(number) === arg);
  if (found !== undefined) return found;
  if (revisions.length === 0) throw new Failure(`pool ${pool} has no revision ${arg}: none are kept yet`);
  throw new Failure(`pool ${pool} has no revision ${arg}; it has ${revisions.map(formatRevision).join(', ')}`);
}
