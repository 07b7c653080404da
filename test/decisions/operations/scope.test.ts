import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { OperationSpec } from '../../../api/operations/operation.ts';
import { chooseVms, meantVms, missingOf } from '../../../decisions/operations/choose.ts';
import {
  operationKey,
  operationName,
  operationOfKey,
  operationResource,
  type OperationRef,
} from '../../../decisions/operations/ref.ts';
import { namespacesOf } from '../../../decisions/operations/scope.ts';
import { operationStatus } from '../../../decisions/operations/status.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { aVm, aVmi } from '../fixtures/fleets.ts';
import { aClusterOperation, anOperation, aProgress, BEFORE, MADE_AT } from './operations.ts';

const LABELS: Record<string, Record<string, string>> = {
  shop: { tier: 'gold' },
  bank: { tier: 'gold', country: 'ch' },
  lab: { tier: 'clay' },
  bare: {},
};
const labelsOf = (namespace: string) => LABELS[namespace];

const included = (spec: Partial<OperationSpec>): string[] => {
  const includes = namespacesOf(aClusterOperation(spec), labelsOf);
  return [...Object.keys(LABELS), 'unknown'].filter((namespace) => includes(namespace));
};

test('an operation of a namespace includes no other, whatever it says about namespaces', () => {
  const namespaces = { namespaces: ['bank'], namespaceSelector: {} };
  for (const spec of [{}, namespaces]) {
    const includes = namespacesOf(anOperation(spec), labelsOf);
    expect(Object.keys(LABELS).filter((namespace) => includes(namespace))).toEqual(['shop']);
  }
});

test.each<[string, Partial<OperationSpec>, string[]]>([
  ['all, if it says nothing', {}, [...Object.keys(LABELS), 'unknown']],
  ['those that it names', { namespaces: ['bank', 'bare'] }, ['bank', 'bare']],
  ['those with the labels', { namespaceSelector: { matchLabels: { tier: 'gold' } } }, ['shop', 'bank']],
  ['all that are known, by an empty selector', { namespaceSelector: {} }, Object.keys(LABELS)],
  [
    'those that it names, and those with the labels',
    { namespaces: ['lab'], namespaceSelector: { matchLabels: { country: 'ch' } } },
    ['bank', 'lab'],
  ],
])('a cluster-wide operation includes %s', (_what, spec, namespaces) => {
  expect(included(spec)).toEqual(namespaces);
});

const OWNER = { kind: 'VirtualMachinePool', name: 'web' } as const;

const vms: VmView[] = Object.keys(LABELS).flatMap((namespace) =>
  ['db', 'web-1'].map((name) =>
    aVm(name, {
      namespace,
      uid: `${namespace}/${name}`,
      createdAt: BEFORE,
      owner: name === 'db' ? null : { ...OWNER, uid: `${namespace}/web` },
    }),
  ),
);

const chosen = (spec: Partial<OperationSpec>, owners: string[] = []): string[] => {
  const operation = aClusterOperation({ action: 'Stop', ...spec });
  const scope = { includes: namespacesOf(operation, labelsOf), owners: new Set(owners) };
  const byNamespace = chooseVms({ operation, scope, vms, vmiOf: (vm) => aVmi(vm), plugs: { migrates: true } });
  const uids = Object.values(byNamespace).flatMap((byName) => Object.values(byName));
  const isMeant = meantVms(operation, scope);
  expect(vms.filter((vm) => isMeant(vm, aVmi(vm))).map(({ uid }) => uid)).toEqual(uids);
  return uids;
};

test('an operation asks for the same in each of its namespaces', () => {
  const namespaces = ['shop', 'bank'];
  expect(chosen({ namespaces, vms: { selector: {} } })).toEqual(['shop/db', 'shop/web-1', 'bank/db', 'bank/web-1']);
  expect(chosen({ namespaces, vms: { names: ['db'] } })).toEqual(['shop/db', 'bank/db']);
  expect(chosen({ namespaces, vms: { owner: OWNER } }, ['shop/web', 'bank/web'])).toEqual(['shop/web-1', 'bank/web-1']);
});

test('a VM outside its namespaces is never touched, whatever is noted on it', () => {
  const noted = { by: 'uid-of-nightly', since: BEFORE, generation: 1, notReadySince: null };
  const all = vms.map((vm) => ({ ...vm, power: noted }));
  fc.assert(
    fc.property(fc.uniqueArray(fc.constantFrom(...Object.keys(LABELS)), { minLength: 1 }), (namespaces) => {
      const operation = aClusterOperation({ action: 'Stop', namespaces });
      const scope = { includes: namespacesOf(operation, labelsOf), owners: new Set<string>() };
      const found = Object.keys(
        chooseVms({ operation, scope, vms: all, vmiOf: (vm) => aVmi(vm), plugs: { migrates: true } }),
      );
      expect(found.sort()).toEqual([...namespaces].sort());
    }),
  );
});

test.each<[string, Partial<OperationSpec>, string | null]>([
  ['namespaces that all exist', { namespaces: ['shop', 'bare'] }, null],
  ['a namespace that is mistyped', { namespaces: ['shop', 'bnak'] }, 'no VM was touched: there is no namespace bnak'],
  ['a name that one of them has', { vms: { names: ['db'] } }, null],
  ['a name that none of them has', { vms: { names: ['bd'] } }, 'no VM was touched: there is no VM bd'],
])('a cluster-wide operation on %s reports what is missing', (_what, spec, missing) => {
  const operation = aClusterOperation(spec);
  const scope = { includes: namespacesOf(operation, labelsOf), owners: new Set<string>() };
  expect(missingOf({ operation, scope, vms, labelsOf })).toBe(missing);
});

test('the status of a cluster-wide operation reports where its VMs are, in counts and a few names', () => {
  const keys = Array.from({ length: 10_000 }, (_, n) => `namespace-${n % 500}/vm-${n}`);
  const failed = keys.slice(0, 200).map((vm) => ({ vm, message: 'late' }));
  const skipped = [{ message: 'it is paused', isExcluded: false, count: 300, vms: keys.slice(0, 300) }];
  const progress = aProgress({ chosen: 10_000, done: keys.length, inProgress: keys.slice(0, 50), failed, skipped });
  const standing = { progress, end: null, workflowId: 'w' };
  const status = operationStatus(aClusterOperation(), standing, MADE_AT);
  expect(status.inProgress).toEqual(keys.slice(0, 40));
  expect(status.failures!.at(-1)!.vm).toBe('namespace-199/vm-199');
  expect(status.waits![0]!.names![0]).toBe('namespace-0/vm-0');
  expect(JSON.stringify(status).length).toBeLessThan(10_000);
});

test('keys of operations distinguish both kinds, and are read back', () => {
  const own: OperationRef = { namespace: 'shop', name: 'nightly', uid: 'u' };
  const wide: OperationRef = { name: 'nightly', uid: 'u' };
  expect([own, wide].map(operationKey)).toEqual(['shop/nightly/u', '-/nightly/u']);
  for (const ref of [own, wide]) expect(operationOfKey(operationKey(ref))).toEqual(ref);
  expect([own, wide].map(operationName)).toEqual(['shop/nightly', 'nightly']);
  expect([own, wide].map((ref) => operationResource(ref).namespaced)).toEqual([true, false]);
});
