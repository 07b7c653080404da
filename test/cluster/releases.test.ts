import { expect, test } from 'vitest';
import { outcomeOf, outcomesOn, pageOf } from './releases.ts';
import { report } from './report.ts';

const skips = [
  { file: 'test/a.int.test.ts', test: 'it ends', reason: 'it kills temporal' },
  { file: 'test/a.int.test.ts', test: 'it waits', reason: 'it kills temporal' },
  { file: 'test/b.int.test.ts', test: 'it moves', reason: 'it needs live migration, which the cluster has not' },
];
const files = { run: [], skipped: [{ file: 'test/c.int.test.ts', reason: 'it takes two clusters' }] };

/** What a run prints, in a terminal and elsewhere. */
const printed = (end = 'removed: the namespaces and rights of run aba254') => `
KubeVirt of unknown version at https://127.0.0.1:6753/; run aba254

 \u001B[32m✓\u001B[39m \u001B[30m\u001B[45m cluster \u001B[49m\u001B[39m test/a.int.test.ts\u001B[2m > \u001B[22mit begins\u001B[33m 6685\u001B[2mms\u001B[22m\u001B[39m
 ✓ test/b.int.test.ts > it stays 12ms
 × test/b.int.test.ts > it stops 2ms
   → expected 1 to be 2
 ↓ test/a.int.test.ts > it ends 2669ms [it kills temporal]

 Test Files  2 passed (2)
${report(files, skips, false)}
${end}
`;

test('the outcome of a run on a cluster is what it has printed: what passed, what failed, what was skipped and why', () => {
  expect(outcomeOf('v1.8.4', printed())).toEqual({
    of: 'v1.8.4',
    passed: new Map([
      ['test/a.int.test.ts', 1],
      ['test/b.int.test.ts', 1],
    ]),
    failed: ['test/b.int.test.ts > it stops'],
    skipped: new Map([
      ['it kills temporal', 2],
      ['it needs live migration, which the cluster has not', 1],
    ]),
    leftOut: new Map([['it takes two clusters', 1]]),
  });
});

test('a run that has not come to its end has no outcome', () => {
  const said = 'the run on v1.8.4 has not come to its end';
  expect(() => outcomeOf('v1.8.4', printed(''))).toThrow(said);
  expect(() => outcomeOf('v1.8.4', `interrupted: what the tests made is being removed\n${printed()}`)).toThrow(said);
});

test('the page has a row for each release, and a column of it for each reason and file', () => {
  const newer = printed()
    .replaceAll('it kills temporal', 'it kills etcd')
    .replace(/^ × .*\n.*\n/m, '');
  const page = pageOf([outcomeOf('v1.8.4', printed()), outcomeOf('v1.9.1', newer)]);
  expect(page).toContain('| v1.8.4 | 2 | 1 | 3 |\n| v1.9.1 | 2 | 0 | 3 |');
  expect(page).toContain('- v1.8.4: test/b.int.test.ts > it stops\n');
  expect(page).toContain('| it kills temporal | 2 | 0 |');
  expect(page).toContain('| it kills etcd | 0 | 2 |');
  expect(page).toContain('| test/b.int.test.ts | 1 | 1 |');
  expect(page).toContain('| it takes two clusters | 1 |');
  expect(pageOf(outcomesOn(page))).toBe(page);
});
