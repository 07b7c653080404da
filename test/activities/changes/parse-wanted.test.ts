import { expect, test } from 'vitest';
import { parseWanted } from '../../../activities/changes/parse-wanted.ts';

test('a patch is YAML or JSON, and keeps each null', () => {
  const patch = { metadata: { labels: { tier: null } } };
  expect(parseWanted({ merge: 'metadata:\n  labels: { tier: null }\n' })).toEqual({ patch });
  expect(parseWanted({ merge: JSON.stringify(patch) })).toEqual({ patch });
  expect(parseWanted({ undo: 'patch-1' })).toEqual({ undo: 'patch-1' });
});

test('a patch means what it means in a manifest, to kubectl too', () => {
  const patch = { spec: { a: true, b: 420, c: '2026-01-01' } };
  expect(parseWanted({ merge: 'spec: { a: on, b: 0644, c: 2026-01-01 }' })).toEqual({ patch });
});

test.each([
  ['', 'a change must be an object'],
  ['spec: [', 'spec.patch.merge: line 1: '],
  ['spec: {}\nspec: {}', 'spec.patch.merge: line 2: the key spec appears twice'],
  ['&all\nspec: { of: *all }', 'spec.patch.merge: line 2: *all stands inside of what it repeats'],
  ['['.repeat(30_000), 'spec.patch.merge: line 1: '],
  ['spec:\n\ta: 1', 'spec.patch.merge: line 2: a tab indents this line'],
  ['spec: { a: 1 }\n---\nspec: { b: 1 }', 'spec.patch.merge: line 3: it must be one document'],
  ['spec: { a: 9007199254740993 }', 'spec.patch.merge: line 1: 9007199254740993 is too long a number'],
  [`spec: ${'{ a: '.repeat(200)}1${' }'.repeat(200)}`, 'nested too deep'],
  ['spec: { running: true }', 'spec.running starts and stops VMs'],
  ['metadata: { finalizers: [] }', "metadata.finalizers can't be changed"],
  ['metadata: { labels: { drover.dev/pool: web } }', 'belongs to drover'],
])('%s is refused: %s', (merge, why) => {
  const { fault } = parseWanted({ merge }) as { fault: string };
  expect(fault).toContain('no VM was touched: ');
  expect(fault).toContain(why);
});
