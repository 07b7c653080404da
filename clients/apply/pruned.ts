import type { KubeObject, Stored } from '../../api/objects.ts';
import type { Resource } from '../../api/resources.ts';
import { field, isObject, type Json } from '../../decisions/lib/json.ts';
import type { KubeClient, ObjectKey } from '../../kubernetes/client.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { handOver, type Fields, type Handover, type ManagedFields } from '../fields/field-ownership.ts';
import { APPLY_MANAGER } from '../fields/server-side-apply.ts';

/**
 * Field manager of what an apply empties: server-side apply makes null, not `{}`, of an object whose fields it takes
 * out, and then refuses the null (kubernetes/kubernetes#117447).
 */
const EMPTYING_MANAGER = 'drover-apply-emptying';

/**
 * What `kubectl apply` has set, on the client's side: that is what a manifest had, which `drover apply` is now to take
 * fields out of. Its own `--server-side` and Flux take these over in the same way.
 */
export const CLIENT_SIDE: Handover = {
  from: 'kubectl-client-side-apply',
  but: ['metadata', 'annotations', 'kubectl.kubernetes.io/last-applied-configuration'],
};

/** Whose fields an object has for a manifest that has them. */
const OURS = new Set([APPLY_MANAGER, EMPTYING_MANAGER, CLIENT_SIDE.from]);

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

/**
 * Returns what the apply is to make of `live`: `after`, which the server makes of `withoutEmptying`, less what no
 * manifest has any more, and no other manager has set.
 */
export function pruned(live: Stored | undefined, after: Stored, manifest: KubeObject): Stored {
  const entries = (live?.metadata.managedFields ?? []) as ManagedFields[];
  const [ours, others] = [true, false].map((isOurs) =>
    entries.filter(({ manager }) => OURS.has(manager) === isOurs).flatMap(({ fieldsV1 }) => fieldsV1['f:spec'] ?? []),
  );
  return { ...after, spec: less(field(after, 'spec'), field(manifest, 'spec'), ours!, others!) };
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

/** `ours`, `others`: the fields here by each of our managers, and by each other one. */
function less(value: unknown, wanted: unknown, ours: readonly Fields[], others: readonly Fields[]): unknown {
  if (!isObject(value) || others.some(isEmpty)) return value;
  const fields = Object.entries(value).flatMap(([key, one]) => {
    const [mine, theirs] = [ours, others].map((all) => all.flatMap((fields) => fields[`f:${key}`] ?? []));
    const isWanted = isObject(wanted) && key in wanted;
    if (mine!.length > 0 && theirs!.length === 0 && !isWanted) return [];
    return [[key, less(one, field(wanted, key), mine!, theirs!)]];
  });
  return Object.fromEntries(fields);
}

interface Emptying {
  resource: Resource;
  key: ObjectKey;
  /** What an apply is to make of the object, as it is now. */
  preview: () => Promise<Stored>;
}

/** Writes what an apply is to make of the spec, in one go, as fields of `drover apply`. */
export async function writeEmptied(kube: KubeClient, { resource, key, preview }: Emptying): Promise<void> {
  const write = async (): Promise<void> => {
    const after = await preview();
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
