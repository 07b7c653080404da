import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { integrationTests } from './files.ts';
import { report } from './report.ts';

test('every integration test either runs on a given cluster or is left out for a reason', () => {
  const { run, skipped } = integrationTests();
  expect([...run, ...skipped.map(({ file }) => file)].sort()).toEqual(globSync('test/**/*.int.test.ts').sort());
  expect(run).toContain('test/integration/rollout/rollout-semantics.int.test.ts');
  expect(skipped).toContainEqual({
    file: 'test/simulator/simulator.int.test.ts',
    reason: expect.stringContaining('servers of its own'),
  });
});

test('the report lists what was not verified, by reason', () => {
  const skips = [
    { file: 'a.ts', test: 'one', reason: 'it kills etcd' },
    { file: 'b.ts', test: 'two', reason: 'it kills etcd' },
  ];
  const files = { run: ['a.ts', 'b.ts'], skipped: [{ file: 'c.ts', reason: 'it is slow' }] };
  expect(report(files, skips, false)).toBe(
    [
      '2 tests skipped, each for what it needs:',
      '  it kills etcd',
      '    a.ts: one',
      '    b.ts: two',
      '1 files left out: it is slow',
      '    c.ts',
    ].join('\n'),
  );
});
