import type { KubeObject, Stored } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';
import { canonical } from '../../decisions/lib/canonical-json.ts';
import { field, isObject } from '../../decisions/lib/json.ts';
import type { KubeClient, ObjectKey, WriteOptions } from '../../kubernetes/client.ts';
import { ActRefused } from '../../kubernetes/errors.ts';

/** A merge patch (RFC 7386) of an object. */
export interface ObjectPatch {
  metadata?: object;
  spec?: object;
  status?: object;
}

/**
 * Merges the patch into the object, and returns that. Throws as `refuseUnkept` does. All that activities write by merge
 * patches goes through this, but for what `test/layout.test.ts` names.
 */
export async function patchKept<T extends KubeObject = KubeObject>(
  client: KubeClient,
  resource: Resource,
  key: ObjectKey,
  patch: ObjectPatch,
  options: WriteOptions = {},
): Promise<Stored<T>> {
  const written = await client.patch<T>(resource, key, 'merge', patch, options);
  refuseUnkept(written, patch);
  return written;
}

/**
 * Throws if the API server has stored something else than a merge patch has written, although the call succeeded: an
 * admission policy has changed it back, or the definition of the object's kind does not know a field. Each further try
 * would have the same result. For patches of fields that are stored as they are written: no quantities, no defaults.
 */
export function refuseUnkept(stored: Stored, { metadata = {}, spec = {}, status = {} }: ObjectPatch): void {
  const { uid: _uid, resourceVersion: _version, ...rest } = metadata as { uid?: unknown; resourceVersion?: unknown };
  for (const [path, wanted] of leavesOf({ metadata: rest, spec, status }, [])) {
    const actual = field(stored, ...path);
    if (storedAs(wanted) !== storedAs(actual)) throw notKept(formatKeys(path), wanted, actual);
  }
}

/** The API server leaves out empty lists of metadata, such as that of owners. */
const storedAs = (value: unknown): string =>
  canonical(Array.isArray(value) && value.length === 0 ? null : (value ?? null));

/** The message about a field that is not as it was just written. */
export const notKept = (path: string, wanted: unknown, actual: unknown): ActRefused =>
  new ActRefused(
    'Invalid',
    `${path} does not become ${text(wanted)}: as it is written, something in the cluster makes it ${text(actual)}`,
  );

const text = (value: unknown): string => JSON.stringify(value ?? null);

type Leaf = [path: string[], wanted: unknown];

/** The values of a merge patch; null for what it removes, and nothing for what it does not mention. */
function leavesOf(patch: object, path: string[]): Leaf[] {
  return Object.entries(patch).flatMap(([key, value]: [string, unknown]): Leaf[] => {
    if (value === undefined) return [];
    return isObject(value) ? leavesOf(value, [...path, key]) : [[[...path, key], value]];
  });
}

const formatKeys = ([first = '', ...others]: string[]): string =>
  others.reduce((path, key) => (/^[\w-]+$/.test(key) ? `${path}.${key}` : `${path}["${key}"]`), first);
