import { ASKED_BY_ANNOTATION, CHANGE_CAUSE_ANNOTATION, POOL_LABEL, REVISION_LABEL } from '../../../api/names.ts';
import { controllerOf, type KubeObject, type Stored } from '../../../api/objects.ts';
import { ControllerRevisions } from '../../../api/resources.ts';
import type { PoolTemplate } from '../../../decisions/pool/template.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { Failure } from '../../cli/failure.ts';
import type { Pool } from '../../pools/objects.ts';

/** A template that a pool has or had, as its ControllerRevision keeps it. */
export interface Revision {
  /** The newest has the highest. */
  number: number;
  /** Of the template, as on the VMs that were made from it. */
  hash: string;
  template: PoolTemplate;
  createdAt: string;
  askedBy: string | null;
  changeCause: string | null;
}

interface ControllerRevision extends KubeObject {
  revision: number;
  data?: { template?: PoolTemplate };
}

/** Those that the pool owns, the oldest first. */
export async function readRevisions(kube: KubeClient, { metadata }: Stored<Pool>): Promise<Revision[]> {
  const { namespace, name, uid } = metadata;
  const labelSelector = `${POOL_LABEL}=${name}`;
  const { items } = await kube.list<ControllerRevision>(ControllerRevisions, { namespace, labelSelector });
  return items
    .filter((item) => controllerOf(item)?.uid === uid)
    .flatMap(revisionIn)
    .sort((one, other) => one.number - other.number);
}

/** As `readRevisions`, for their numbers alone: without the right to read them people see hashes. */
export const knownRevisions = (kube: KubeClient, pool: Stored<Pool>): Promise<Revision[]> =>
  readRevisions(kube, pool).catch(() => []);

/** Nothing of an object that is not as drover writes them. */
function revisionIn({ metadata, revision: number, data }: Stored<ControllerRevision>): Revision[] {
  const { labels = {}, annotations = {}, creationTimestamp: createdAt } = metadata;
  const hash = labels[REVISION_LABEL];
  if (hash === undefined || data?.template === undefined) return [];
  const askedBy = annotations[ASKED_BY_ANNOTATION] ?? null;
  return [
    {
      number,
      hash,
      template: data.template,
      createdAt,
      askedBy,
      changeCause: annotations[CHANGE_CAUSE_ANNOTATION] ?? null,
    },
  ];
}

/** `4 (a1b2c3d4e5)`, or the hash alone where the number is not known. */
export const inWords = ({ number, hash }: { number: number | null; hash: string }): string =>
  number === null ? hash : `${number} (${hash})`;

/** The revision of this number or hash. Throws `Failure` that names those there are. */
export function findRevision(revisions: Revision[], word: string, pool: string): Revision {
  // A hash may be all digits, a number is never as long.
  const found = revisions.find(({ hash }) => hash === word) ?? revisions.find(({ number }) => String(number) === word);
  if (found !== undefined) return found;
  if (revisions.length === 0) throw new Failure(`pool ${pool} has no revision ${word}: none are kept yet`);
  throw new Failure(`pool ${pool} has no revision ${word}; it has ${revisions.map(inWords).join(', ')}`);
}
