import { expect, test } from 'vitest';
import { revisionsToPrune, type KeptRevision } from '../../../decisions/template/kept-revisions.ts';
import { aPool } from '../fixtures/fleets.ts';

const revision = (number: number): KeptRevision => ({
  name: `web-r${number}`,
  revision: `r${number}`,
  number,
  template: null,
});
const six = [3, 1, 6, 2, 5, 4].map(revision);

test('the newest unused revisions are kept, up to the limit, besides those in use', () => {
  const pool = aPool({ revisionHistoryLimit: 2 });
  expect(revisionsToPrune(pool, six, new Set([null, 'r6', 'r2']))).toEqual(['web-r3', 'web-r1']);
});

test('a limit of 0 keeps only what is in use', () => {
  expect(revisionsToPrune(aPool({ revisionHistoryLimit: 0 }), six, new Set(['r1']))).toEqual([
    'web-r6',
    'web-r5',
    'web-r4',
    'web-r3',
    'web-r2',
  ]);
});

test('ten unused revisions are kept if the pool sets no limit', () => {
  const many = Array.from({ length: 13 }, (_, index) => revision(index + 1));
  expect(revisionsToPrune(aPool(), many, new Set(['r13']))).toEqual(['web-r2', 'web-r1']);
  expect(revisionsToPrune(aPool(), many.slice(2), new Set(['r13']))).toEqual([]);
});
