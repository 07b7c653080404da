import { describe, expect, test } from 'vitest';
import { skippedLines, planLines, poolLines } from '../../../clients/machine-types/plan-view.ts';
import { planOf, type PlannedItem, type TransitionPlanned } from '../../../clients/machine-types/plan.ts';
import type { VmInventory } from '../../../clients/machine-types/read.ts';
import type { TypeInUse } from '../../../clients/machine-types/types-in-use.ts';
import { supportLines, typesLines } from '../../../clients/machine-types/types.ts';
import type { Transition } from '../../../decisions/machine-types/transition.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { aVm } from '../../decisions/fixtures/fleets.ts';
import { aTransition } from '../../decisions/machine-types/snapshots.ts';

const item = (name: string, fields: Partial<PlannedItem>): PlannedItem => ({
  namespace: 'shop',
  name,
  pool: null,
  type: 'pc-q35-rhel8.2.0',
  vmiType: null,
  result: 'q35',
  need: 'Change',
  message: null,
  ...fields,
});
function planned(items: PlannedItem[], fields: Partial<TransitionPlanned> = {}): TransitionPlanned {
  const counts: TransitionPlanned['counts'] = {};
  for (const { need } of items) counts[need] = (counts[need] ?? 0) + 1;
  return { items, results: [], counts, maxRestarts: 1, refusals: [], unknown: [], ...fields };
}
/** Returns the rows without column padding. */
const rowsOf = (lines: string[]): string[] => lines.map((line) => line.replaceAll(/ {3,}/g, ' | '));

test('a plan has a line for each VM, and a summary', () => {
  const plan = planned([
    item('off', {}),
    item('on', { need: 'ChangeAndRestart', vmiType: 'pc-q35-rhel8.2.0' }),
    item('late', { need: 'Deferred', message: 'it is paused', vmiType: 'pc-q35-rhel8.2.0' }),
    item('alias', { need: 'Restart', type: 'q35', vmiType: 'pc-q35-rhel8.6.0' }),
    item('unknown', { result: null }),
    item('bare', { result: '' }),
  ]);
  expect(rowsOf(planLines({ ...plan, maxRestarts: 3 }, { wide: false }))).toEqual([
    'NAMESPACE | NAME | TYPE | RESULT | NEEDS',
    'shop | off | pc-q35-rhel8.2.0 | q35 | change',
    'shop | on | pc-q35-rhel8.2.0 | q35 | change, restart',
    'shop | late | pc-q35-rhel8.2.0 | q35 | deferred: it is paused',
    'shop | alias | q35 (pc-q35-rhel8.6.0) | q35 | restart',
    'shop | unknown | pc-q35-rhel8.2.0 | <default> | change',
    'shop | bare | pc-q35-rhel8.2.0 | <none> | change',
    '',
    '6 VMs: 3 to change, 1 to change and restart, 1 to restart, 1 deferred; 3 restarted at a time',
  ]);
});

test('the surprising conditions of a transition are reported in a line for each reason', () => {
  const exempt = { need: 'Excluded', message: 'its owner opted out of disruption' } as const;
  const plan = planned([
    item('db-1', {}),
    item('db-2', { need: 'Deferred', message: 'it is paused' }),
    item('mail-1', exempt),
    item('mail-2', exempt),
    item('web-1', { need: 'Pool', pool: 'web' }),
  ]);
  expect(skippedLines(plan)).toEqual([
    'deferred: shop/db-2: it is paused',
    'excluded: shop/mail-1, shop/mail-2: its owner opted out of disruption',
  ]);
  expect(poolLines(plan)).toEqual([
    'A pool changes its VMs by its own update strategy, within its own budget, and may restart them: shop/web',
  ]);
  expect(poolLines(planned([item('db-1', {})]))).toEqual([]);
});

test('a wide plan has columns of VMIs and pools', () => {
  const rows = rowsOf(
    planLines(planned([item('alias', { need: 'Wait', type: 'q35', vmiType: 'pc-q35-rhel8.6.0' })]), { wide: true }),
  );
  expect(rows[0]).toBe('NAMESPACE | NAME | TYPE | VMI TYPE | POOL | RESULT | NEEDS');
  expect(rows[1]).toBe('shop | alias | q35 | pc-q35-rhel8.6.0 | <none> | q35 | restart by its owner');
  expect(rows.at(-1)).toBe('1 VM: 1 to be restarted by their owners');
});

test('a plan says what pools do by themselves', () => {
  const lines = rowsOf(
    planLines(
      planned([
        item('web-1', { need: 'Pool', pool: 'web' }),
        item('db-1', { need: 'Pool', pool: 'db', message: 'its pool shop/db is paused' }),
      ]),
      { wide: false },
    ),
  );
  expect(lines.slice(1)).toEqual([
    'shop | web-1 | pc-q35-rhel8.2.0 | q35 | rolled by its pool web',
    'shop | db-1 | pc-q35-rhel8.2.0 | q35 | rolled by its pool db: its pool shop/db is paused',
    '',
    '2 VMs: 2 rolled by their pools',
    'A pool changes its VMs by its own update strategy, within its own budget, and may restart them: shop/db, shop/web',
  ]);
});

const type = (name: string, fields: Partial<TypeInUse>): TypeInUse => ({
  type: name,
  vms: 1,
  vmis: 0,
  namespaces: { shop: { vms: 1, vmis: 0 } },
  isAlias: false,
  nodes: 2,
  newer: null,
  isOld: false,
  ...fields,
});

test('types have a line for each namespace, and the plan says whether nodes have them, or newer ones', () => {
  const both = { shop: { vms: 2, vmis: 1 }, bank: { vms: 0, vmis: 1 } };
  const types = [
    type('pc-q35-rhel8.2.0', { nodes: 0, newer: 'pc-q35-rhel9.2.0', isOld: true }),
    type('pc-q35-rhel8.6.0', { vms: 2, vmis: 2, namespaces: both, newer: 'pc-q35-rhel9.2.0', isOld: true }),
    type('pc-q35-rhel9.2.0', {}),
    type('q35', { isAlias: true }),
  ];
  expect(rowsOf(typesLines(types, { wide: false }))).toEqual([
    'NAMESPACE | TYPE | VMS | VMIS | STATE',
    'shop | pc-q35-rhel8.2.0 | 1 | 0 | no schedulable node has it',
    'shop | pc-q35-rhel8.6.0 | 2 | 1 | older: nodes have pc-q35-rhel9.2.0',
    'bank | pc-q35-rhel8.6.0 | 0 | 1 | older: nodes have pc-q35-rhel9.2.0; no VM asks for this one',
    'shop | pc-q35-rhel9.2.0 | 1 | 0 | newest of the nodes',
    'shop | q35 | 1 | 0 | alias',
    '',
    '5 VMs, 2 VMIs; of types that no node has: 1 VM, 0 VMIs; of older types than nodes have: 2 VMs, 2 VMIs',
  ]);
  const wide = rowsOf(
    typesLines([type('q35', { isAlias: true }), type('pc-q35-rhel9.2.0', { nodes: null })], { wide: true }),
  );
  expect(wide.slice(0, 3)).toEqual([
    'NAMESPACE | TYPE | VMS | VMIS | NODES | NEWER | STATE',
    'shop | q35 | 1 | 0 | 2 | <none> | alias',
    'shop | pc-q35-rhel9.2.0 | 1 | 0 | <unknown> | <none> | <unknown>',
  ]);
  // Unknown whether that is an old type.
  expect(wide.at(-1)).toBe('2 VMs, 0 VMIs');
  expect(typesLines([type('q35', { isAlias: true })], { wide: false }).at(-1)).toBe(
    '1 VM, 0 VMIs; none of an older type than nodes have',
  );
});

describe('the answer of the API server', () => {
  const vm = aVm('off', {
    machineType: 'pc-q35-rhel8.2.0',
    runStrategy: 'Halted',
    owner: null,
    hasVmi: false,
    ready: false,
  });
  const fleetOf = (fields: Partial<VmInventory> = {}): VmInventory => ({
    vms: [vm],
    vmis: [],
    pools: [],
    nodes: [],
    ...fields,
  });
  const transition = aTransition({ restartNow: false, maxRestarts: '5%', requestedBy: 'ada' });
  const stored = (type: string) => ({
    metadata: {
      namespace: 'shop',
      name: 'off',
      uid: vm.uid,
      resourceVersion: '2',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: { template: { spec: { domain: { machine: { type } } } } },
  });
  /** A client whose dry run gives `answer`, and whose VM has this type; with an empty type there is no VM. */
  const answering = (answer: string | Error, type = 'pc-q35-rhel8.2.0'): KubeClient =>
    ({
      patch: () => (typeof answer === 'string' ? Promise.resolve(stored(answer)) : Promise.reject(answer)),
      get: () => (type === '' ? Promise.reject(new KubeError(404, 'NotFound', 'gone')) : Promise.resolve(stored(type))),
    }) as unknown as KubeClient;
  const asking = (kube: KubeClient, fleet = fleetOf(), change: Partial<Transition> = {}): Promise<TransitionPlanned> =>
    planOf(
      kube,
      fleet,
      { ...transition, ...change },
      { withDryRuns: true, others: { names: new Map(), unknown: null } },
    );

  test('is the type that a VM would get', async () => {
    expect(await asking(answering('q35'))).toMatchObject({
      items: [{ need: 'Change', result: 'q35' }],
      refusals: [],
      unknown: [],
    });
  });

  test('is nothing if no dry run is needed', async () => {
    const options = { withDryRuns: false, others: { names: new Map<string, string>(), unknown: null } };
    const plan = await planOf(answering(new Error('asked')), fleetOf(), transition, options);
    expect(plan).toMatchObject({ items: [{ need: 'Change', result: null }], results: [], refusals: [], unknown: [] });
  });

  test('may be hidden from the user', async () => {
    const forbidden = new KubeError(403, 'Forbidden', 'virtualmachines.kubevirt.io "off" is forbidden');
    const plan = await asking(answering(forbidden), fleetOf({ nodes: null }));
    const unknown = [
      'whether nodes have the new type is not known: you may not list them',
      'which types VMs would get is not known: you may not patch them',
    ];
    expect(plan).toMatchObject({ items: [{ need: 'Change', result: null }], refusals: [], unknown });
  });

  test('may be a refusal, which is not reported if the VM has changed since', async () => {
    const denied = new KubeError(403, 'Forbidden', 'admission webhook "vm-validator" denied the request: no such type');
    const plan = await asking(answering(denied));
    expect(plan.refusals).toEqual([
      expect.stringMatching(
        /^1 VM with pc-q35-rhel8.2.0 would get the default: the API server refuses it: admission webhook .*; choose another type with --to, /,
      ),
    ]);
    expect(plan.items).toMatchObject([{ need: 'Excluded' }]);
    for (const type of ['q35', '']) {
      const changed = await asking(answering(new KubeError(422, 'Invalid', 'the server rejected our request'), type));
      expect(changed).toMatchObject({
        items: [{ need: 'Change' }],
        refusals: [],
        unknown: ['what shop/off would get is not known: it has changed while it was read'],
      });
    }
    await expect(asking(answering(new KubeError(503, 'ServiceUnavailable', 'busy')))).rejects.toThrow('busy');
  });

  test('is the former type, for an undo', async () => {
    const record = { id: '1f0c92ab', from: 'pc-q35-rhel8.2.0', to: 'q35', vmiType: null, at: '2026-01-01T00:00:00Z' };
    const fleet = fleetOf({
      vms: [
        aVm('off', { ...vm, machineType: 'q35', transition: record }),
        aVm('other', { ...vm, name: 'other', uid: 'other', machineType: 'q35' }),
      ],
    });
    const plan = await asking(answering('pc-q35-rhel8.2.0'), fleet, {
      scope: { ...transition.scope, glob: '*', undoes: '1f0c92ab' },
    });
    expect(plan.items).toMatchObject([{ name: 'off', type: 'q35', result: 'pc-q35-rhel8.2.0', need: 'Change' }]);
  });
});

test('the machine types that nodes have beside those in use are listed, and where deprecated ones are named', () => {
  const supported = [
    { type: 'pc-q35-rhel9.2.0', nodes: 3 },
    { type: 'q35', nodes: 2 },
  ];
  expect(supportLines(supported, [type('q35', { isAlias: true })])).toEqual([
    'other types that nodes have, and how many do: pc-q35-rhel9.2.0 (3)',
    expect.stringContaining('kubevirt_node_deprecated_machine_types'),
  ]);
  expect(supportLines([], [])[0]).toMatch(/: none$/);
});
