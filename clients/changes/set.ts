import { isObject, type Json } from '../../decisions/lib/json.ts';
import { UsageError } from '../cli/failure.ts';

/** A step of a path: a key, `[a key with dots]`, or `[name=the name of an item]`. */
const STEP = /^(?:\.?([^.[\]=]+)|\[name=([^\]]+)\]|\[([^\]]+)\])/;

/**
 * Returns the merge patch of `--set PATH=VALUE`, such as `spec.template.spec.evictionStrategy=None`. A value is JSON,
 * or else a text; `null` takes away. Throws `UsageError`.
 */
export function patchOfSets(sets: readonly string[]): Json {
  return sets.reduce<Json>((patch, text) => merged(patch, patchOf(text)) as Json, {});
}

function patchOf(text: string): Json {
  const { steps, value } = parsed(text);
  const isText = steps.some((step) => step === 'labels' || step === 'annotations');
  const last = isText && value !== 'null' ? value : valueOf(value);
  return steps.reduceRight<unknown>((inner, step) => {
    if (typeof step === 'string') return { [step]: inner };
    if (!isObject(inner)) throw new UsageError(`--set ${text}: a list item is not a value: name one of its fields`);
    return [{ name: step.name, ...inner }];
  }, last) as Json;
}

function parsed(text: string): { steps: (string | { name: string })[]; value: string } {
  const steps: (string | { name: string })[] = [];
  let rest = text;
  for (let found = STEP.exec(rest); found !== null; found = STEP.exec(rest)) {
    const [whole, key, name, quoted] = found;
    steps.push(name === undefined ? (key ?? quoted!) : { name });
    rest = rest.slice(whole.length);
  }
  if (steps.length > 0 && typeof steps[0] === 'string' && rest.startsWith('=')) return { steps, value: rest.slice(1) };
  throw new UsageError(
    `--set ${text}: give PATH=VALUE, such as spec.template.spec.evictionStrategy=LiveMigrate or metadata.labels[example.com/tier]=gold`,
  );
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Puts one patch over another; items of lists that have names by these. */
function merged(a: unknown, b: unknown): unknown {
  if (Array.isArray(a) && Array.isArray(b)) {
    const items = new Map(a.map((item: Json) => [item['name'], item]));
    for (const item of b as Json[]) items.set(item['name'], merged(items.get(item['name']), item) as Json);
    return [...items.values()];
  }
  if (!isObject(a) || !isObject(b)) return b;
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return Object.fromEntries(keys.map((key) => [key, key in b ? merged(a[key], b[key]) : a[key]]));
}
