import { expect, test } from 'vitest';
import {
  supportedTypes,
  TypeTally,
  type TypeCounts,
  type TypeInUse,
} from '../../../clients/machine-types/types-in-use.ts';
import type { NodeView } from '../../../decisions/views/node.ts';
import { aVm, aVmi } from '../../decisions/fixtures/fleets.ts';

const node = (machineTypes: string[], fields: Partial<NodeView> = {}): NodeView => ({
  name: 'node',
  zone: null,
  ready: true,
  schedulable: true,
  machineTypes,
  ...fields,
});
const NODES = [
  node(['q35', 'pc-q35-rhel9.2.0', 'pc-q35-rhel8.6.0']),
  node(['q35', 'pc-q35-rhel9.2.0']),
  node(['pc-q35-rhel9.8.0'], { schedulable: false }),
];

function tallied(nodes: NodeView[] | null): TypeInUse[] {
  const tally = new TypeTally();
  const vm = (name: string, machineType: string | null, namespace = 'shop'): void =>
    tally.vm(aVm(name, { namespace, machineType }));
  vm('a', 'pc-q35-rhel9.2.0');
  vm('b', 'q35');
  vm('c', 'q35', 'bank');
  vm('d', null);
  tally.vmi(aVmi(aVm('b', { namespace: 'shop' }), { machineType: 'pc-q35-rhel8.6.0', specMachineType: 'q35' }));
  tally.vmi(aVmi(aVm('c', { namespace: 'bank' }), { machineType: null, specMachineType: 'pc-q35-rhel8.2.0' }));
  tally.vmi(aVmi(aVm('a', { namespace: 'shop' }), { machineType: 'pc-q35-rhel8.0.0', deleting: true }));
  tally.vmi(aVmi(aVm('e', { namespace: 'shop' }), { machineType: 'pc-q35-rhel8.0.0', phase: 'Failed' }));
  tally.vmi(aVmi(aVm('f', { namespace: 'shop' }), { machineType: 'pc-q35-rhel8.0.0', vmUid: null }));
  return tally.types(nodes);
}

const counts = (vms: number, vmis: number): TypeCounts => ({ vms, vmis });

test('types are counted by namespace, both of specs and of living VMIs', () => {
  expect(tallied(NODES)).toEqual([
    {
      type: 'pc-q35-rhel8.2.0',
      ...counts(0, 1),
      namespaces: { bank: counts(0, 1) },
      isAlias: false,
      nodes: 0,
      newer: 'pc-q35-rhel9.2.0',
      isOld: true,
    },
    {
      type: 'pc-q35-rhel8.6.0',
      ...counts(0, 1),
      namespaces: { shop: counts(0, 1) },
      isAlias: false,
      nodes: 1,
      newer: 'pc-q35-rhel9.2.0',
      isOld: true,
    },
    {
      type: 'pc-q35-rhel9.2.0',
      ...counts(1, 0),
      namespaces: { shop: counts(1, 0) },
      isAlias: false,
      nodes: 2,
      newer: null,
      isOld: false,
    },
    {
      type: 'q35',
      ...counts(2, 0),
      namespaces: { shop: counts(1, 0), bank: counts(1, 0) },
      isAlias: true,
      nodes: 2,
      newer: null,
      isOld: false,
    },
  ]);
});

test('no type is old if nodes do not name their types', () => {
  for (const nodes of [null, [], [node([])]]) {
    expect(tallied(nodes).map(({ nodes, newer, isOld }) => ({ nodes, newer, isOld }))).toEqual(
      Array.from({ length: 4 }, () => ({ nodes: null, newer: null, isOld: false })),
    );
  }
});

test('a type is not supported if only a node has it that takes no VMIs', () => {
  expect(supportedTypes(NODES)).toEqual(
    new Map([
      ['q35', 2],
      ['pc-q35-rhel9.2.0', 2],
      ['pc-q35-rhel8.6.0', 1],
    ]),
  );
  expect(supportedTypes([node(['q35'], { schedulable: false }), node([])])).toEqual(new Map());
});
