import { API_VERSION, RESTARTED_AT_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { Resource } from '../../api/resources.ts';
import type { KubeClient, ObjectKey } from '../../kubernetes/client.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { APPLY_MANAGER } from './server-side-apply.ts';

/** Field manager of `drover rollout`. */
export const ROLLOUT_MANAGER = 'drover-rollout';

const TRIES = 20;
/** A field below `spec.template` that `drover rollout restart` sets, and no manifest. */
export const RESTARTED_AT = [
  'spec',
  'template',
  'spec',
  'template',
  'metadata',
  'annotations',
  RESTARTED_AT_ANNOTATION,
];

/** Kubernetes' FieldsV1: `f:<name>` is a field, and its value holds the fields below it. */
export interface Fields {
  [key: string]: Fields;
}

export interface ManagedFields {
  manager: string;
  operation: 'Apply' | 'Update';
  apiVersion: string;
  time?: string;
  fieldsType: 'FieldsV1';
  fieldsV1: Fields;
  subresource?: string;
}

/** Whose fields `drover apply` is to own, and which of them it is not to. */
interface Handover {
  from: string;
  but: readonly string[];
}

/** What `drover rollout` sets. The restart annotation stays its own: no manifest should undo a restart. */
export const OF_ROLLOUTS: Handover = { from: ROLLOUT_MANAGER, but: RESTARTED_AT };

/**
 * Makes `drover apply` the owner of the fields that another command of drover's has set in an object. So the next
 * manifest changes them without a conflict, and removes fields that it no longer has.
 */
export async function handOver(
  kube: KubeClient,
  resource: Resource,
  key: ObjectKey,
  handover: Handover,
): Promise<void> {
  const write = async (): Promise<void> => {
    const { metadata } = await kube.get(resource, key);
    const before = (metadata.managedFields ?? []) as ManagedFields[];
    const after = handedOver(before, handover);
    if (after === before) return;
    const patch = [
      { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
      { op: 'replace', path: '/metadata/managedFields', value: after },
    ];
    await kube.patch(resource, key, 'json', patch, { fieldManager: handover.from });
  };
  await retryOnConflict(write, { tries: TRIES });
}

/**
 * Makes `drover apply` the owner of all fields that the manager `from` has set, except the field at the path `but`.
 * Returns `entries` itself if there is nothing to hand over.
 */
export function handedOver(entries: ManagedFields[], { from, but }: Handover): ManagedFields[] {
  const own = entries.find(
    ({ manager, operation, subresource }) => manager === from && operation === 'Update' && !subresource,
  );
  if (own === undefined) return entries;
  const given = structuredClone(own.fieldsV1);
  const kept = extract(given, but);
  if (Object.keys(given).length === 0) return entries;
  const isApply = ({ manager, operation }: ManagedFields): boolean =>
    manager === APPLY_MANAGER && operation === 'Apply';
  const apply = entries.find(isApply);
  const newOwner: ManagedFields = {
    manager: APPLY_MANAGER,
    operation: 'Apply',
    apiVersion: API_VERSION,
    ...(own.time === undefined ? {} : { time: own.time }),
    fieldsType: 'FieldsV1',
    fieldsV1: union(apply?.fieldsV1 ?? {}, given),
  };
  const rest = entries.filter((entry) => entry !== own && entry !== apply);
  return [...rest, newOwner, ...(kept === undefined ? [] : [{ ...own, fieldsV1: kept }])];
}

const union = (a: Fields, b: Fields): Fields => ({
  ...a,
  ...Object.fromEntries(Object.entries(b).map(([key, below]) => [key, union(a[key] ?? {}, below)])),
});

/**
 * Removes the field at `path` and all parents that this leaves empty. Returns the field within its parents; undefined
 * if there is no such field.
 */
function extract(fields: Fields, [first, ...rest]: readonly string[]): Fields | undefined {
  const key = `f:${first}`;
  const below = fields[key];
  if (below === undefined) return undefined;
  const extracted = rest.length === 0 ? below : extract(below, rest);
  if (extracted === undefined) return undefined;
  if (rest.length === 0 || Object.keys(below).every((name) => name === '.')) delete fields[key];
  return { [key]: extracted };
}
