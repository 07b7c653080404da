import { expect, test } from 'vitest';
import { scopeRules, type Chooseable } from '../../../decisions/machine-types/scope.ts';
import type { TransitionScope } from '../../../decisions/machine-types/transition.ts';
import { anOldVm, anOldVmi, NEW, OLD, scopeOf } from './snapshots.ts';

const vm: Chooseable = { namespace: 'shop', name: 'web-1', ownLabels: { tier: 'a' } };

test.each<[string, Partial<TransitionScope>, boolean]>([
  ['all, if nothing narrows it', {}, true],
  ['its namespace', { namespaces: ['bank', 'shop'] }, true],
  ['another namespace', { namespaces: ['bank'] }, false],
  ['no namespace at all', { namespaces: [] }, false],
  ['all namespaces, of which it is left to others', { delegated: ['shop'] }, false],
  ['all namespaces, of which another is left to others', { delegated: ['bank'] }, true],
  ['its name', { names: ['db', 'web-1'] }, true],
  ['its name with its namespace', { names: ['shop/web-1'] }, true],
  ['a VM of its name elsewhere', { names: ['bank/web-1'] }, false],
  ['its labels', { labelSelector: { matchLabels: { tier: 'a' } } }, true],
  ['other labels', { labelSelector: { matchLabels: { tier: 'b' } } }, false],
  ['exclusion by a glob of its name', { exclude: ['db-*', 'web-*'] }, false],
  ['exclusion by a glob of its namespace and name', { exclude: ['shop/*'] }, false],
  ['exclusion elsewhere', { exclude: ['bank/web-*', 'db-*'] }, true],
  ['its name, and its exclusion', { names: ['web-1'], exclude: ['web-1'] }, false],
])('%s', (_words, scope, is) => expect(scopeRules(scopeOf(scope)).chooses(vm)).toBe(is));

test.each<[string, Parameters<typeof anOldVm>[1], Parameters<typeof anOldVmi>[1] | null, boolean]>([
  ['with a VMI', {}, {}, true],
  ['that is to run, and has no VMI for a moment', { hasVmi: false }, null, true],
  ['whose VMI goes, to be followed by another', {}, { deleting: true }, true],
  ['that is halted', { runStrategy: 'Halted', hasVmi: false }, null, false],
  ['that was shut down', { runStrategy: 'Manual' }, { phase: 'Succeeded' }, false],
  ['that ran once', { runStrategy: 'Once' }, { phase: 'Succeeded' }, false],
  ['that is halted while its VMI still runs', { runStrategy: 'Halted' }, {}, true],
])('running is a VM %s', (_words, fields, vmiFields, runs) => {
  const one = anOldVm('web-1', fields);
  const vmi = vmiFields === null ? undefined : anOldVmi(one, vmiFields);
  expect(scopeRules(scopeOf({ only: 'running' })).choosesState(one, vmi)).toBe(runs);
  expect(scopeRules(scopeOf({ only: 'stopped' })).choosesState(one, vmi)).toBe(!runs);
  expect(scopeRules(scopeOf()).choosesState(one, vmi)).toBe(true);
});

test('a type is old if the glob matches it, and a missing type is not', () => {
  const { isOld } = scopeRules(scopeOf({ glob: '*' }));
  expect([isOld(OLD), isOld(null)]).toEqual([true, false]);
  expect([OLD, NEW, OLD].map(scopeRules(scopeOf()).isOld)).toEqual([true, false, true]);
});

test('a malformed glob is refused', () => expect(() => scopeRules(scopeOf({ exclude: ['['] }))).toThrow(RangeError));
