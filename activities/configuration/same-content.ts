import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../../api/objects.ts';
import { REFERENCE_RESOURCES, type OwnReference } from '../../decisions/template/references.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';

/** A moment in the life of a Secret or ConfigMap. */
export interface Moment {
  /** The version of the cluster at which it is read. */
  asOf: bigint;
  /** The version that the object then has. */
  version: bigint;
}

/**
 * Returns those of the `earlier` moments at which the object held what it holds `now`. Only the API server remembers
 * what it held, for some minutes: nothing of that is kept here. What it does not remember counts as different. Throws
 * if it does not answer.
 */
export async function sameContent<M extends Moment>(
  client: KubeClient,
  namespace: string,
  reference: OwnReference,
  now: Moment,
  earlier: readonly M[],
): Promise<M[]> {
  const present = await contentAt(client, namespace, reference, now);
  if (present === undefined) return [];
  const same: M[] = [];
  for (const moment of earlier) {
    const past = await contentAt(client, namespace, reference, moment);
    if (past !== undefined && isDeepStrictEqual(past, present)) same.push(moment);
  }
  return same;
}

async function contentAt(
  client: KubeClient,
  namespace: string,
  { kind, name }: OwnReference,
  { asOf, version }: Moment,
): Promise<{ data: object; binaryData: object } | undefined> {
  try {
    const { items } = await client.list<KubeObject & { data?: object; binaryData?: object }>(
      REFERENCE_RESOURCES[kind],
      {
        namespace,
        fieldSelector: `metadata.name=${name}`,
        asOf: String(asOf),
      },
    );
    const [object] = items;
    if (object === undefined || BigInt(object.metadata.resourceVersion) !== version) return undefined;
    return { data: object.data ?? {}, binaryData: object.binaryData ?? {} };
  } catch (error) {
    // The version has been compacted, or the right to read was withdrawn.
    if (error instanceof KubeError && error.status < 500 && error.status !== 429) return undefined;
    throw error;
  }
}
