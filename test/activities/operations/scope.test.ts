import { expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { includedIn } from '../../../activities/operations/scope.ts';
import type { OperationSpec } from '../../../api/operations/operation.ts';
import { aClusterOperation, anOperation } from '../../decisions/operations/operations.ts';

/** Of three namespaces, `bank` is left to workers of its own. */
const cache = {
  namespaces: new Map([
    ['shop', { tier: 'gold' }],
    ['bank', { tier: 'gold' }],
    ['lab', {}],
  ]),
  delegated: ['bank'],
  isDelegated: (namespace: string) => namespace === 'bank',
} as unknown as ClusterCache;

test.each<[string, Partial<OperationSpec>, ReturnType<typeof includedIn>]>([
  ['all', {}, { namespaces: null, delegated: ['bank'] }],
  ['those that it names', { namespaces: ['bank', 'lab'] }, { namespaces: ['lab'] }],
  ['those with its labels', { namespaceSelector: { matchLabels: { tier: 'gold' } } }, { namespaces: ['shop'] }],
])('a change of machine types in %s leaves out a namespace that has workers of its own', (_which, spec, included) => {
  expect(includedIn(cache, aClusterOperation(spec))).toEqual(included);
});

test('a change of machine types in a namespace that has workers of its own is for no VM', () => {
  expect(includedIn(cache, anOperation({}, { namespace: 'bank' }))).toEqual({ namespaces: [] });
  expect(includedIn(cache, anOperation())).toEqual({ namespaces: ['shop'] });
});
