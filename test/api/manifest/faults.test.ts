/* oxlint-disable unicorn/no-thenable -- the word is the user's */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { ManifestErrors, readManifests } from '../../../api/manifest/manifest.ts';
import { barePool } from '../pools.ts';
import { bareSet } from '../replica-set/replica-sets.ts';

/** Characters that control a terminal, or change the direction of its text. */
// oxlint-disable-next-line no-control-regex
const ACTING = /[\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/;

const vm = {
  metadata: { labels: { app: 'web' } },
  spec: { runStrategy: 'Always', template: { spec: { domain: { devices: {} } } } },
};
const full = {
  ...barePool(),
  spec: {
    replicas: 3,
    maxUnavailable: '25%',
    template: vm,
    nameGeneration: { appendPostfixToSecretReferences: true },
    updateStrategy: {
      proactive: {
        selectionPolicy: { basePolicy: 'Oldest', orderedPolicies: [{ labelSelector: { matchLabels: { tier: 'a' } } }] },
      },
    },
    scaleInStrategy: { proactive: { statePreservation: 'Offline' } },
    autohealing: { startupFailureThreshold: 3, backoff: { initial: '30s' } },
    rollout: {
      minReadySeconds: 5,
      steps: [{ to: 1, then: { wait: '10m' } }],
      windows: [{ cron: '0 2 * * *', duration: '2h' }],
    },
    selector: { matchLabels: { 'drover.dev/pool': 'web' } },
  },
};
const theirs = {
  apiVersion: 'pool.kubevirt.io/v1beta1',
  kind: 'VirtualMachinePool',
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    virtualMachineTemplate: vm,
    autohealing: { startUpFailureThreshold: 2 },
  },
};
const proposed = { ...full, apiVersion: 'kubevirt.io/v1' };

const hostile = fc.constantFrom(
  null,
  true,
  0,
  -1,
  1.5,
  1e300,
  '',
  ' ',
  'x',
  '\u001B[2J',
  'a\nb',
  '\u202Eevil',
  '\u0085',
  '__proto__',
  [],
  {},
  [null],
  { a: null },
  'constructor',
  '1'.repeat(50),
);
const key = fc.constantFrom(
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'replica',
  'a\nb',
  '\u001B]0;x\u0007',
  '\u202Ex',
  '',
  'spec',
  'metadata',
  'selector',
  'items',
);
const any = fc.oneof({ weight: 4, arbitrary: hostile }, { weight: 1, arbitrary: fc.jsonValue() });

type Json = Record<string, unknown>;
interface Mutation {
  steps: number[];
  act: 'replace' | 'add' | 'remove';
  key: string;
  value: unknown;
}
const mutation: fc.Arbitrary<Mutation> = fc.record({
  steps: fc.array(fc.nat(), { maxLength: 7 }),
  act: fc.constantFrom('replace', 'add', 'remove'),
  key,
  value: any,
});

/** Follows `steps` into the document, and changes what is there. */
function mutate(document: unknown, { steps, act, key, value: shared }: Mutation): unknown {
  // A later mutation may change this value: a shared value would change for all runs, or become cyclic.
  const value = structuredClone(shared);
  const root = { root: document } as Json;
  let holder: Json = root;
  let at = 'root';
  for (const step of steps) {
    const inner = holder[at];
    const names = typeof inner === 'object' && inner !== null ? Object.keys(inner) : [];
    if (names.length === 0) break;
    [holder, at] = [inner as Json, names[step % names.length]!];
  }
  const inner = holder[at];
  if (act === 'remove') delete holder[at];
  else if (act === 'add' && typeof inner === 'object' && inner !== null)
    Object.defineProperty(inner, key, { value, enumerable: true, configurable: true, writable: true });
  else holder[at] = value;
  return root['root'];
}

/** Reads the text, and returns the problems that are reported. */
function told(text: string, source = 'pools.yaml'): readonly { line?: number | undefined }[] {
  try {
    for (const { notes } of readManifests([{ text, source }]))
      for (const note of notes) expect(note).not.toMatch(ACTING);
    return [];
  } catch (error) {
    if (!(error instanceof ManifestErrors)) throw error;
    for (const { source: file, document, line, path, message } of error.problems) {
      expect(file).toBe(source);
      expect(message).toMatch(/\S/);
      expect(message).not.toMatch(/\[object Object\]|undefined|function /);
      expect(path).not.toMatch(ACTING);
      if (document > 0) expect(line).toBeGreaterThan(0);
    }
    // One line each, without characters that control a terminal.
    const lines = error.message.split('\n');
    expect(lines).toHaveLength(error.problems.length);
    for (const line of lines) expect(line).not.toMatch(ACTING);
    for (const line of lines) expect(line).toMatch(/^pools\.yaml(:\d+(:\d+)? \(document \d+\))?: /);
    return error.problems;
  }
}

describe('a manifest of any content has its faults reported with their place and in plain text', () => {
  test.each([
    ['a pool of drover', full],
    ['a pool of KubeVirt', theirs],
    ['a pool of the proposal', proposed],
    ['a replica set', bareSet()],
    ["a replica set of KubeVirt's group", { ...bareSet(), apiVersion: 'kubevirt.io/v1' }],
  ])('%s, changed at random', (_, document) => {
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 3 }), (mutations) => {
        const changed = mutations.reduce<unknown>((now, one) => mutate(now, one), structuredClone(document));
        told(stringify(changed ?? null));
        told(JSON.stringify(changed ?? null));
      }),
      { numRuns: 60 },
    );
  });

  test('any text, and any change to the text of a manifest, is read or refused', () => {
    const text = stringify(full);
    const edit = fc.record({
      at: fc.nat(text.length),
      length: fc.nat(12),
      instead: fc.oneof(
        fc.string({ unit: 'binary', maxLength: 8 }),
        fc.constantFrom('\t', '\n---\n', ': ', '&a ', '*a', '{', '[', '"', '\u001B[2J', '!!binary '),
      ),
    });
    fc.assert(
      fc.property(
        fc.array(edit, { minLength: 1, maxLength: 3 }),
        (edits) =>
          void told(
            edits.reduce((now, { at, length, instead }) => now.slice(0, at) + instead + now.slice(at + length), text),
          ),
      ),
      { numRuns: 60 },
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (any) => void told(any)),
      { numRuns: 60 },
    );
  });
});

test('spec: null is reported with its place', () => {
  for (const document of [full, theirs, proposed]) {
    expect(told(stringify({ ...document, spec: null }))).toMatchObject([
      { document: 1, path: 'spec', message: 'is empty: it must be an object (lines of "key: value")' },
    ]);
  }
});

test('a field named __proto__ is an unknown field, and does not belong to KubeVirt', () => {
  const text = stringify(full).replace('replicas: 3', 'replicas: 3\n  __proto__: 1');
  expect(told(text)).toMatchObject([{ path: 'spec.__proto__', message: expect.stringMatching(/^unknown field/) }]);
});

test('control characters of a value are shown, and have no effect', () => {
  expect(told(JSON.stringify({ ...full, kind: '\u001B[2J\u202Ekind\nb' }))).toMatchObject([
    { path: 'kind', message: expect.stringContaining('\\u202ekind b') },
  ]);
});

test('a document that is nested too deep is refused with that reason', () => {
  expect(told(textOf(nested(20)))).toEqual([]);
  expect(told(textOf(nested(100)))).toMatchObject([
    {
      path: expect.stringContaining('spec.template.spec.x.a.a'),
      message: expect.stringContaining('is nested deeper than 64 levels'),
    },
  ]);
  expect(told(textOf(nested(20_000)))).toMatchObject([{ message: 'this is nested too deep to be read' }]);
});

/** A manifest with `deep` in its template. */
const textOf = (deep: string): string =>
  JSON.stringify({ ...full, spec: { ...full.spec, template: { ...vm, spec: { ...vm.spec, x: 'DEEP' } } } }).replace(
    '"DEEP"',
    deep,
  );
const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
