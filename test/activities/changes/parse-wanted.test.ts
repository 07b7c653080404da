import { expect, test } from 'vitest';
import { parseWanted } from '../../../activities/changes/parse-wanted.ts';

test('a patch is YAML or JSON, and keeps each null', () => {
  const patch = { metadata: { labels: { tier: null } } };
  expect(parseWanted({ merge: 'metadata:\n  labels: { tier: null }\n' })).toEqual({ patch });
  expect(parseWanted({ merge: JSON.stringify(patch) })).toEqual({ patch });
  expect(parseWanted({ undo: 'patch-1' })).toEqual({ undo: 'patch-1' });
});

test.each([
  ['', 'a change must be an object'],
  ['spec: [', 'spec.patch.merge is not valid YAML'],
  ['spec: {}\nspec: {}', 'spec.patch.merge is not valid YAML'],
  ['&all\nspec: { of: *all }', 'spec.patch.merge is not valid YAML'],
  ['['.repeat(30_000), 'spec.patch.merge is not valid YAML'],
  [`spec: ${'{ a: '.repeat(200)}1${' }'.repeat(200)}`, 'nested too deep'],
  ['spec: { running: true }', 'spec.running starts and stops VMs'],
  ['metadata: { finalizers: [] }', "metadata.finalizers can't be changed"],
  ['metadata: { labels: { drover.dev/pool: web } }', 'belongs to drover'],
])('%s is refused: %s', (merge, why) => {
  const { fault } = parseWanted({ merge }) as { fault: string };
  expect(fault).toContain('no VM was touched: ');
  expect(fault).toContain(why);
});
