import { field, isObject, type Json } from '../lib/json.ts';
import { contains } from '../merge/contains.ts';
import { byName } from '../merge/named-items.ts';
import { withEdits, type Edit, type Step } from './edits.ts';

/** An object with the values that it had before a change. `kept`: paths of values that a user has changed since. */
export interface Undone<T> {
  after: T;
  /** What that does, each from the value now to the one before. */
  edits: Edit[];
  kept: Step[][];
}

/** Puts the values back that these edits have set, each only if it is still as they have left it. */
export function undone<T>(live: T, edits: readonly Edit[]): Undone<T> {
  const [back, kept]: [Edit[], Step[][]] = [[], []];
  let after = live;
  for (const { path, was, is, had } of edits) {
    const now = valueAt(live, path);
    if (now.is !== 'there' || !isSame(now.value, is, path)) {
      kept.push(path);
      continue;
    }
    const value = now.value ?? undefined;
    back.push({ path, ...(value === undefined ? {} : { was: value }), ...(was === undefined ? {} : { is: was }) });
    if (was === undefined) after = unset(after, path, had ?? path.length) as T;
    else after = withEdits(after, [{ path, is: was }]);
  }
  return { after, edits: back, kept };
}

/** `nowhere`: the list no longer has the item that the path leads through. */
type Found = { is: 'there'; value: unknown } | { is: 'nowhere' };

function valueAt(holder: unknown, path: readonly Step[]): Found {
  let value = holder;
  for (const step of path) {
    if (typeof step === 'string') value = field(value, step);
    else {
      const items = Array.isArray(value) ? byName(value) : undefined;
      if (items?.has(step.name) !== true) return { is: 'nowhere' };
      value = items.get(step.name);
    }
  }
  return { is: 'there', value };
}

/**
 * Returns the VM with what these edits are about as in `started`, the spec that its VMI was started from: what it would
 * be if the VMI had all of it already.
 */
export const asStarted = <Vm>(vm: Vm, edits: readonly Edit[], started: unknown): Vm =>
  edits.reduce<unknown>((holder, { path }) => {
    const found = valueAt({ spec: started }, path);
    if (path[0] !== 'spec' || found.is === 'nowhere') return holder;
    const value = found.value ?? undefined;
    return value === undefined ? unset(holder, path, path.length) : withEdits(holder, [{ path, is: value }]);
  }, vm) as Vm;

/**
 * Returns the edits as `stored` has them: KubeVirt fills in a default for some values that are taken away, such as the
 * machine type. A value that is there as before was not taken away.
 */
export const withDefaults = (stored: unknown, edits: readonly Edit[]): readonly Edit[] =>
  edits.map((edit) => {
    const { path, was, is } = edit;
    const found = is === undefined ? valueAt(stored, path) : null;
    if (found?.is !== 'there' || found.value == null || isSame(found.value, was, path)) return edit;
    return { ...edit, is: found.value };
  });

/** Returns the path of the first value that `stored` does not have as these edits have set it; null if it has all. */
export function unkept(stored: unknown, edits: readonly Edit[]): Step[] | null {
  const lost = edits.find(({ path, is }) => {
    const found = valueAt(stored, path);
    return !isSame(found.is === 'there' ? found.value : undefined, is, path);
  });
  return lost?.path ?? null;
}

/** KubeVirt spells quantities in its own way, and leaves out what is nothing. */
function isSame(now: unknown, is: unknown, path: readonly Step[]): boolean {
  const [one, other] = [now ?? undefined, is ?? undefined];
  if (one === undefined || other === undefined) return one === other;
  const key = path.findLast((step) => typeof step === 'string') ?? '';
  return contains(one, other, key) && contains(other, one, key);
}

/** Takes the value away, and the objects that lead to it, from this depth on, that hold nothing else. */
function unset(holder: unknown, [step, ...rest]: readonly Step[], had: number): unknown {
  if (typeof step === 'object') {
    const isIt = (item: unknown): boolean => byName([item])?.has(step.name) === true;
    return Array.isArray(holder) ? holder.map((item) => (isIt(item) ? unset(item, rest, had - 1) : item)) : holder;
  }
  if (step === undefined || !isObject(holder) || !Object.hasOwn(holder, step)) return holder;
  const { [step]: inner, ...others } = holder;
  if (rest.length === 0) return others;
  const remainder = unset(inner, rest, had - 1);
  const isEmpty = isObject(remainder) && Object.keys(remainder).length === 0;
  return isEmpty && had <= 0 ? others : ({ ...holder, [step]: remainder } satisfies Json);
}
