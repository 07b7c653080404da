import { canonical } from '../lib/canonical-json.ts';
import { field, type Json } from '../lib/json.ts';
import { contains } from './contains.ts';
import { merge, UNKNOWN, type Versions } from './merge.ts';

/**
 * Fields of a VM's spec that refer to an instance type or a preference. Their `revisionName` pins one state of it by
 * the name of a ControllerRevision: KubeVirt refuses to keep that beside another name, and reads size and devices from
 * it whatever the kind says.
 */
const MATCHERS = ['instancetype', 'preference'] as const;

export function withoutMatchers({ instancetype: _instancetype, preference: _preference, ...rest }: Json): Json {
  return rest;
}

/** Returns the merged fields, of which those are left out that the VM is not to have. */
export function mergeMatchers(live: Json, base: Json | null, target: Json): Json {
  const merged = MATCHERS.map((key): [string, unknown] => [
    key,
    mergeMatcher({ live: live[key], base: base === null ? UNKNOWN : base[key], target: target[key] }, key),
  ]);
  return Object.fromEntries(merged.filter(([, matcher]) => matcher != null));
}

/**
 * A template that refers to something else takes the VM's reference over as a whole: its pin, and what KubeVirt has
 * inferred from a volume, belong to what it referred to.
 */
function mergeMatcher({ live, base, target }: Versions, key: string): unknown {
  const isUnchanged =
    base === UNKNOWN ? contains(live, target, key) : canonical(base ?? null) === canonical(target ?? null);
  if (isUnchanged || target == null) return isUnchanged ? live : undefined;
  return identityOf(live) === identityOf(target) ? merge({ live, base, target }, key) : target;
}

/** KubeVirt takes the singular and the plural of a kind, in any case, and without a kind that of the whole cluster. */
const identityOf = (matcher: unknown): string => {
  const kind = field(matcher, 'kind');
  const scope = typeof kind !== 'string' || kind.toLowerCase().includes('cluster') ? 'cluster' : 'namespace';
  return canonical([scope, field(matcher, 'name') ?? null, field(matcher, 'inferFromVolume') ?? null]);
};
