import { expect, test } from 'vitest';
import type { Stored } from '../../api/objects.ts';
import { toldAs } from './selection.ts';

const claim = (labels: Record<string, string>): Stored =>
  ({ metadata: { namespace: 'shop', name: 'data-1', labels } }) as unknown as Stored;
const [kept, plain] = [claim({ kept: 'x' }), claim({})];

test.each([
  ['appears to a watch that begins to match it', 'MODIFIED', plain, kept, 'ADDED'],
  ['is deleted to a watch that matches it no more', 'MODIFIED', kept, plain, 'DELETED'],
  ['is changed to a watch that matches it as before', 'MODIFIED', kept, kept, 'MODIFIED'],
  ['is nothing to a watch that never matched it', 'MODIFIED', plain, plain, null],
  ['is new', 'ADDED', undefined, kept, 'ADDED'],
  ['is deleted', 'DELETED', kept, kept, 'DELETED'],
  ['is nothing when deleted, to a watch that did not match it', 'DELETED', plain, plain, null],
] as const)('an object %s', (_what, type, before, object, told) => {
  expect(toldAs({ type, before, object }, { labelSelector: 'kept' })).toBe(told);
});
