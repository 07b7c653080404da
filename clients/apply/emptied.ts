import type { KubeObject, Stored } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';
import { field, isObject, type Json } from '../../decisions/lib/json.ts';
import type { KubeClient, ObjectKey } from '../../kubernetes/client.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { handOver, type Fields, type ManagedFields } from '../fields/field-ownership.ts';
import { APPLY_MANAGER } from '../fields/server-side-apply.ts';

/**
 * Field manager of what an apply empties: server-side apply makes null, not `{}`, of an object whose fields it takes
 * out, and then refuses the null (kubernetes/kubernetes#117447).
 */
const EMPTYING_MANAGER = 'drover-apply-emptying';
/** drover writes a busy pool's status twice a second, and each write changes its resourceVersion. */
const TRIES = 20;

/**
 * Returns the manifest with all that `live` has in objects that are empty in the manifest's spec; the manifest itself
 * if there are none. Lists are as they are: server-side apply replaces these as a whole.
 */
export function withoutEmptying<T extends KubeObject>(live: Stored | undefined, manifest: T): T {
  const wanted = field(manifest, 'spec');
  const spec = isObject(wanted) ? kept(field(live, 'spec'), wanted) : wanted;
  return spec === wanted ? manifest : { ...manifest, spec };
}

/** Returns what `withoutEmptying` of the manifest makes of `live`, less all that the manifest empties. */
export function emptied(live: Stored | undefined, after: Stored, manifest: KubeObject): Stored {
  const entries = (live?.metadata.managedFields ?? []) as ManagedFields[];
  const others = entries.filter(({ manager }) => manager !== APPLY_MANAGER && manager !== EMPTYING_MANAGER);
  const owned = others.map(({ fieldsV1 }) => fieldsV1['f:spec']);
  return { ...after, spec: less(field(live, 'spec'), field(after, 'spec'), field(manifest, 'spec'), owned) };
}

const isEmpty = (value: Json): boolean => Object.keys(value).length === 0;
const empties = (live: unknown, wanted: unknown): boolean =>
  isObject(wanted) && isEmpty(wanted) && isObject(live) && !isEmpty(live);

function kept(live: unknown, wanted: Json): Json {
  if (empties(live, wanted)) return live as Json;
  const all = Object.entries(wanted).map(
    ([key, value]) => [key, isObject(value) ? kept(field(live, key), value) : value] as const,
  );
  return all.every(([key, value]) => value === wanted[key]) ? wanted : Object.fromEntries(all);
}

/** `owned`: the fields here that each other manager has set. */
function less(live: unknown, after: unknown, wanted: unknown, owned: (Fields | undefined)[]): unknown {
  if (!isObject(wanted) || !isObject(after)) return after;
  const below = (key: string): (Fields | undefined)[] => owned.map((fields) => fields?.[`f:${key}`]);
  if (empties(live, wanted)) return ownedByOthers(after, owned);
  return Object.fromEntries(
    Object.entries(after).map(([key, value]) => [key, less(field(live, key), value, wanted[key], below(key))]),
  );
}

/** Returns the fields that others have set, and what they have set in these. */
function ownedByOthers(value: unknown, owned: (Fields | undefined)[]): unknown {
  const isWhole = owned.some((fields) => fields !== undefined && isEmpty(fields));
  if (!isObject(value) || isWhole) return value;
  const fields = Object.entries(value).map(([key, one]) => [key, one, owned.map((all) => all?.[`f:${key}`])] as const);
  const setByOthers = fields.filter(([, , by]) => by.some((one) => one !== undefined));
  return Object.fromEntries(setByOthers.map(([key, one, by]) => [key, ownedByOthers(one, by)]));
}

interface Emptying {
  resource: Resource;
  key: ObjectKey;
  /** What an apply is to make of the object, as it is now. */
  dryRunApply: () => Promise<Stored>;
}

/** Writes what an apply is to make of the spec, in one go, as fields of `drover apply`. */
export async function writeEmptied(kube: KubeClient, { resource, key, dryRunApply }: Emptying): Promise<void> {
  const write = async (): Promise<void> => {
    const after = await dryRunApply();
    const patch = [
      { op: 'replace', path: '/metadata/resourceVersion', value: after.metadata.resourceVersion },
      // With who asks for it: a worker may begin with the new template at once.
      { op: 'add', path: '/metadata/annotations', value: after.metadata.annotations ?? {} },
      { op: 'replace', path: '/spec', value: field(after, 'spec') },
    ];
    await kube.patch(resource, key, 'json', patch, { fieldManager: EMPTYING_MANAGER });
  };
  await retryOnConflict(write, { tries: TRIES });
  await handOver(kube, resource, key, { from: EMPTYING_MANAGER, but: [] });
}
