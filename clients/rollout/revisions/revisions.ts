import { REQUESTED_BY_ANNOTATION, CHANGE_CAUSE_ANNOTATION, POOL_LABEL, REVISION_LABEL } from '../../../api/names.ts';
import { controllerOf, type KubeObject, type Stored } from '../../../api/objects.ts';
import { ControllerRevisions } from '../../../api/resources.ts';
import type { PoolTemplate } from '../../../decisions/template/template.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { Failure } from '../../cli/failure.ts';
import type { Pool } from '../../pool/objects.ts';

/** A current or earlier template of a pool, as its ControllerRevision keeps it. */
export interface Revision {
  /** Highest for the newest revision. */
  number: number;
  /** Hash of the template, as on VMs created from it. */
  hash: string;
  template: PoolTemplate;
  createdAt: string;
  requestedBy: string | null;
  changeCause: string | null;
}

interface ControllerRevision extends KubeObject {
  revision: number;
  data?: { template?: PoolTemplate };
}

/** Reads the revisions that the pool owns, the oldest first. */
export async function readRevisions(kube: KubeClient, { metadata }: Stored<Pool>): Promise<Revision[]> {
  const { namespace, name, uid } = metadata;
  const labelSelector = `${POOL_LABEL}=${name}`;
  const { items } = await kube.list<ControllerRevision>(ControllerRevisions, { namespace, labelSelector });
  return items
    .filter((item) => controllerOf(item)?.uid === uid)
    .flatMap(revisionIn)
    .sort((one, other) => one.number - other.number);
}

/** As `readRevisions`, if only numbers are needed: empty if they can't be read, and people see hashes then. */
export const knownRevisions = (kube: KubeClient, pool: Stored<Pool>): Promise<Revision[]> =>
  readRevisions(kube, pool).catch(() => []);

/** Empty for an object that is not in drover's format. */
function revisionIn({ metadata, revision: number, data }: Stored<ControllerRevision>): Revision[] {
  const { labels = {}, annotations = {}, creationTimestamp: createdAt } = metadata;
  const hash = labels[REVISION_LABEL];
  if (hash === undefined || data?.template === undefined) return [];
  const requestedBy = annotations[REQUESTED_BY_ANNOTATION] ?? null;
  return [
    {
      number,
      hash,
      template: data.template,
      createdAt,
      requestedBy,
      changeCause: annotations[CHANGE_CAUSE_ANNOTATION] ?? null,
    },
  ];
}

/** `4 (a1b2c3d4e5)`, or only the hash if the number is unknown. */
export const formatRevision = ({ number, hash }: { number: number | null; hash: string }): string =>
  number === null ? hash : `${number} (${hash})`;

/** Finds the revision with this number or hash. Throws a `Failure` that lists those there are. */
export function findRevision(revisions: Revision[], word: string, pool: string): Revision {
  // A hash may be all digits, but it is longer than any number.
  const found = revisions.find(({ hash }) => hash === word) ?? revisions.find(({ number }) => String(number) === word);
  if (found !== undefined) return found;
  if (revisions.length === 0) throw new Failure(`pool ${pool} has no revision ${word}: none are kept yet`);
  throw new Failure(`pool ${pool} has no revision ${word}; it has ${revisions.map(formatRevision).join(', ')}`);
}
