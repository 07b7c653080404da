import type { KubeObject, Stored } from '../../api/objects.ts';
import { isObject } from '../../decisions/lib/json.ts';
import type { Fields, Handover, ManagedFields } from '../fields/field-ownership.ts';
import { APPLY_MANAGER } from '../fields/server-side-apply.ts';

/**
 * What `kubectl apply` has set, on the client's side: that is what a manifest had, which `drover apply` is now to take
 * fields out of. Its own `--server-side` and Flux take these over in the same way.
 */
export const CLIENT_SIDE: Handover = {
  from: 'kubectl-client-side-apply',
  but: ['metadata', 'annotations', 'kubectl.kubernetes.io/last-applied-configuration'],
};

const isClientSide = ({ manager, operation, subresource }: ManagedFields): boolean =>
  manager === CLIENT_SIDE.from && operation === 'Update' && !subresource;

/** Returns what an apply makes of `live` once it owns what `kubectl apply` has set; `after`: without that. */
export function withoutClientSide(live: Stored | undefined, after: Stored, manifest: KubeObject): Stored {
  const entries = (live?.metadata.managedFields ?? []) as ManagedFields[];
  const given = entries.find(isClientSide)?.fieldsV1['f:spec'];
  if (given === undefined) return after;
  const others = entries.filter((entry) => !isClientSide(entry) && entry.manager !== APPLY_MANAGER);
  const owned = others.map(({ fieldsV1 }) => fieldsV1['f:spec']);
  return { ...after, spec: less(after['spec'], manifest['spec'], given, owned) };
}

/** `given`: the fields here that `kubectl apply` has set; `owned`: those that each other manager has. */
function less(after: unknown, wanted: unknown, given: Fields, owned: (Fields | undefined)[]): unknown {
  if (!isObject(after) || !isObject(wanted)) return after;
  const fields = Object.entries(after).flatMap(([key, value]) => {
    const below = given[`f:${key}`];
    const by = owned.map((all) => all?.[`f:${key}`]);
    if (below === undefined) return [[key, value]];
    if (key in wanted) return [[key, less(value, wanted[key], below, by)]];
    return by.every((one) => one === undefined) ? [] : [[key, value]];
  });
  return Object.fromEntries(fields);
}
