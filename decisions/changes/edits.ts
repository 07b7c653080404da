import { canonical } from '../lib/canonical-json.ts';
import { field, isObject, type Json } from '../lib/json.ts';
import { byName } from '../merge/named-items.ts';

/** A key of an object, or the name of an item of a list. */
export type Step = string | { name: string };

/** One value that a change sets, adds or removes. */
export interface Edit {
  path: Step[];
  /** The value before; absent if there was none. */
  was?: unknown;
  /** The value after; absent if there is none. */
  is?: unknown;
  /** How many of the objects that lead to it were there before; absent if all were. */
  had?: number;
}

/** What a change does to one object; `lacks`: which item of a list it names that the object does not have. */
type Edits = { edits: Edit[] } | { lacks: string };

/** KubeVirt's lists whose items have a unique name. */
const BY_NAME = new Set([
  'dataVolumeTemplates',
  'disks',
  'filesystems',
  'gpus',
  'hostDevices',
  'inputs',
  'interfaces',
  'networks',
  'resourceClaims',
  'volumes',
]);

/**
 * Returns what a JSON merge patch (RFC 7386) changes in `live`, value by value. Unlike there, items of a VM's disks,
 * volumes, interfaces and the like change the items of their names, and leave all others as they are: such a patch is
 * none of a VM that lacks one. Every other list is one value.
 */
export function editsOf(live: unknown, patch: Json): Edits {
  const edits: Edit[] = [];
  const lacks = collect(edits, { live, patch, path: [] });
  return lacks === null ? { edits } : { lacks };
}

interface EditContext {
  live: unknown;
  patch: unknown;
  path: Step[];
  had?: number;
}

/** Adds to the edits; returns which item is missing, in words, or null. */
function collect(edits: Edit[], { live, patch, path, had }: EditContext): string | null {
  if (isObject(patch) && (isObject(live) || (live == null && Object.keys(patch).length > 0))) {
    const known = live == null ? (had ?? path.length - 1) : had;
    for (const [key, value] of Object.entries(patch)) {
      const lacks = collect(edits, { live: field(live, key), patch: value, path: [...path, key], ...below(known) });
      if (lacks !== null) return lacks;
    }
    return null;
  }
  const items = namedItems(live, patch, path);
  if (items !== null) return collectItems(edits, { ...items, path });
  const [was, is] = [live ?? undefined, isObject(patch) ? withoutNulls(patch) : (patch ?? undefined)];
  if (canonical(was ?? null) !== canonical(is ?? null))
    edits.push({ path, ...(was === undefined ? {} : { was }), ...(is === undefined ? {} : { is }), ...below(had) });
  return null;
}

const below = (had: number | undefined): { had?: number } => (had === undefined ? {} : { had });

interface NamedItems {
  items: Map<string, unknown>;
  changes: Map<string, unknown>;
}

/** Null if the list is one value. */
function namedItems(live: unknown, patch: unknown, path: readonly Step[]): NamedItems | null {
  const key = path.at(-1);
  if (!Array.isArray(patch) || typeof key !== 'string' || !BY_NAME.has(key)) return null;
  const [items, changes] = [byName(Array.isArray(live) ? live : []), byName(patch)];
  return items === undefined || changes === undefined ? null : { items, changes };
}

function collectItems(edits: Edit[], { items, changes, path }: NamedItems & { path: Step[] }): string | null {
  for (const [name, patch] of changes) {
    const at = [...path, { name }];
    if (!items.has(name)) return formatPath(at);
    const lacks = collect(edits, { live: items.get(name), patch, path: at });
    if (lacks !== null) return lacks;
  }
  return null;
}

function withoutNulls(value: Json): Json {
  const kept = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(kept.map(([key, inner]) => [key, isObject(inner) ? withoutNulls(inner) : inner]));
}

/** As users write a path: `spec.template.spec.domain.devices.disks[name=root].cache`. */
export const formatPath = (path: readonly Step[]): string =>
  path.reduce<string>((text, step) => {
    if (typeof step === 'object') return `${text}[name=${step.name}]`;
    if (!/^[\w-]+$/.test(step)) return `${text}[${step}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');

/** Returns the object with all of that done to it. What it shares with `live` is not changed. */
export const withEdits = <T>(live: T, edits: readonly Edit[]): T =>
  edits.reduce<unknown>((object, { path, is }) => put(object, path, is), live) as T;

/** Puts the value there; takes away what is there if it is undefined. */
function put(holder: unknown, [step, ...rest]: readonly Step[], value: unknown): unknown {
  if (step === undefined) return value;
  if (typeof step === 'object') {
    if (!Array.isArray(holder)) return holder;
    return holder.map((item: unknown) => (byName([item])?.has(step.name) ? put(item, rest, value) : item));
  }
  const object = isObject(holder) ? holder : {};
  const inner = put(field(object, step), rest, value);
  if (inner !== undefined) return { ...object, [step]: inner };
  const { [step]: _gone, ...others } = object;
  return others;
}
