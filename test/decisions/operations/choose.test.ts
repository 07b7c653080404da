import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { OperationSpec } from '../../../api/operations/operation.ts';
import { chooseVms, meantVms, missingOf } from '../../../decisions/operations/choose.ts';
import type { OperationScope } from '../../../decisions/operations/scope.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aVm, aVmi } from '../fixtures/fleets.ts';
import { anOperation, BEFORE, MADE_AT } from './operations.ts';

interface Shape {
  vm?: Partial<VmView>;
  /** Null: it has none. */
  vmi?: Partial<VmiView> | null;
}

/** All of a namespace, with these owners of the name that is asked for. */
const shopWith = (...owners: string[]): OperationScope => ({
  includes: (namespace) => namespace === 'shop',
  owners: new Set(owners),
});

/** As in `ChoiceInput`; `owner`: UID of the owner of the name that is asked for. */
interface Around {
  owner?: string;
  plugs?: { migrates: boolean };
}

function choose(
  spec: Partial<OperationSpec>,
  shapes: Record<string, Shape>,
  { owner, plugs = { migrates: true } }: Around = {},
): string[] {
  const vms = Object.entries(shapes).map(([name, { vm }]) =>
    aVm(name, { owner: null, namespace: 'shop', createdAt: BEFORE, ...vm }),
  );
  const vmiOf = (vm: VmView): VmiView | undefined => {
    const { vmi = {} } = shapes[vm.name]!;
    return vmi === null ? undefined : aVmi(vm, { createdAt: BEFORE, ...vmi });
  };
  const { shop: chosen = {}, ...elsewhere } = chooseVms({
    operation: anOperation(spec),
    scope: shopWith(...(owner === undefined ? [] : [owner])),
    vms,
    vmiOf,
    plugs,
  });
  expect(elsewhere).toEqual({});
  for (const [name, uid] of Object.entries(chosen)) {
    const vm = vms.find((one) => one.name === name)!;
    expect(uid).toBe((spec.action ?? 'Restart') === 'Restart' ? vmiOf(vm)!.uid : vm.uid);
  }
  return Object.keys(shapes).filter((name) => name in chosen);
}

const AT = Date.parse(MADE_AT);

test('a restart includes VMIs that are no younger than the operation, and no others', () => {
  expect(
    choose(
      {},
      {
        older: {},
        'of-the-same-second': { vmi: { createdAt: AT } },
        younger: { vmi: { createdAt: AT + 1_000 } },
        stopped: { vmi: null },
        ending: { vmi: { deleting: true } },
        ended: { vmi: { phase: 'Succeeded' } },
        leaving: { vm: { deleting: true } },
      },
    ),
  ).toEqual(['older', 'of-the-same-second']);
});

test('a start and a stop include VMs that are no younger, and that have something to do', () => {
  const shapes: Record<string, Shape> = {
    runs: {},
    stopped: { vm: { runStrategy: 'Halted', hasVmi: false }, vmi: null },
    'between-two-VMIs': { vm: { runStrategy: 'Always' }, vmi: null },
    'of-the-same-second': { vm: { createdAt: AT, runStrategy: 'Halted' }, vmi: null },
    'made-since': { vm: { createdAt: AT + 1_000, runStrategy: 'Halted' }, vmi: null },
    'made-since-and-runs': { vm: { createdAt: AT + 1_000 } },
  };
  expect(choose({ action: 'Start' }, shapes)).toEqual(['stopped', 'between-two-VMIs', 'of-the-same-second']);
  expect(choose({ action: 'Stop' }, shapes)).toEqual(['runs', 'between-two-VMIs']);
});

test('a younger VM is never chosen, whatever is asked for', () => {
  const action = fc.constantFrom('Restart' as const, 'Start' as const, 'Stop' as const);
  const ages = fc.record({ vm: fc.integer({ min: -3, max: 3 }), vmi: fc.integer({ min: -3, max: 3 }) });
  fc.assert(
    fc.property(action, ages, fc.boolean(), (which, { vm, vmi }, isNamed) => {
      const vms = isNamed ? { names: ['db'] } : { selector: {} };
      const shape = { vm: { createdAt: AT + vm * 1_000 }, vmi: { createdAt: AT + vmi * 1_000 } };
      const isYounger = (which === 'Restart' ? vmi : vm) > 0;
      const chosen = choose({ action: which, vms }, { db: shape });
      expect(isYounger ? chosen : []).toEqual([]);
    }),
  );
});

const OF_WEB = { kind: 'VirtualMachinePool', name: 'web', uid: 'uid-of-web' };

test.each<[string, OperationSpec['vms'], string[], { migrates: boolean }?]>([
  ['names', { names: ['labelled', 'standby', 'none'] }, ['labelled', 'standby']],
  ['labels', { selector: { matchLabels: { app: 'web' } } }, ['labelled']],
  ['an owner', { owner: { kind: 'VirtualMachinePool', name: 'web' } }, ['owned']],
  [
    'an owner and labels',
    { owner: { kind: 'VirtualMachinePool', name: 'web' }, selector: { matchLabels: { app: 'web' } } },
    [],
  ],
  ['a glob of machine types', { machineType: 'pc-q35-rhel8.*' }, ['typed']],
  ['what waits for a restart', { restartRequired: true }, ['older-revision', 'waits']],
  [
    'what waits for a restart if KubeVirt migrates nothing by itself',
    { restartRequired: true },
    ['older-revision', 'waits', 'plugged'],
    { migrates: false },
  ],
  ['an outdated launcher', { launcherOutdated: true }, ['outdated']],
])('VMs are selected by %s', (_what, vms, names, plugs = { migrates: true }) => {
  const shapes: Record<string, Shape> = {
    plain: {},
    labelled: { vm: { ownLabels: { app: 'web' } } },
    owned: { vm: { owner: OF_WEB, revision: 'a' }, vmi: { revision: 'a' } },
    'older-revision': { vm: { owner: { ...OF_WEB, uid: 'uid-of-api' }, revision: 'b' }, vmi: { revision: 'a' } },
    standby: { vm: { owner: OF_WEB, role: 'Standby', revision: 'a' }, vmi: { revision: 'a' } },
    typed: { vm: { machineType: 'pc-q35-rhel8.6.0' } },
    waits: { vm: { restartRequired: { since: null, message: 'of a change' } } },
    plugged: { vmi: { plugging: 'HotVCPUChange' } },
    outdated: { vmi: { launcherOutdated: true } },
  };
  expect(choose({ vms }, shapes, { owner: 'uid-of-web', plugs })).toEqual(names);
});

test('VMs of a missing owner are none, even if a VM has no owner', () => {
  expect(
    choose(
      { vms: { owner: { kind: 'VirtualMachinePool', name: 'gone' } } },
      { owned: { vm: { owner: OF_WEB } }, plain: {} },
    ),
  ).toEqual([]);
});

test('a run state selects VMs as users see it', () => {
  const shapes: Record<string, Shape> = { runs: {}, stopped: { vm: { runStrategy: 'Halted' }, vmi: null } };
  expect(choose({ vms: { runState: 'Running' } }, shapes)).toEqual(['runs']);
  expect(choose({ action: 'Start', vms: { runState: 'Stopped' } }, shapes)).toEqual(['stopped']);
});

test('a malformed glob is refused', () => {
  expect(() => choose({ vms: { machineType: 'pc-[' } }, { plain: {} })).toThrow(RangeError);
});

const NOTED = { by: 'uid-of-nightly', since: BEFORE, generation: 1, notReadySince: null };

test.each<[OperationSpec['action'], Shape, string]>([
  ['Stop', { vm: { power: { ...NOTED, vmi: 'the one that was stopped' } } }, 'uid-of-db'],
  ['Stop', { vm: { hasVmi: false, power: NOTED }, vmi: null }, 'uid-of-db'],
  ['Start', { vm: { power: NOTED } }, 'uid-of-db'],
  ['Restart', { vm: { power: { ...NOTED, vmi: 'before' } }, vmi: { createdAt: AT + 9_000 } }, 'before'],
  // Its own restart, in the second in which the operation was made.
  ['Restart', { vm: { power: { ...NOTED, vmi: 'before' } }, vmi: { createdAt: AT } }, 'before'],
])(
  'a VM that a lost run of a %s noted still belongs to it, by the UID that it was selected by',
  (action, shape, uid) => {
    const vm = aVm('db', { owner: null, namespace: 'shop', createdAt: BEFORE, uid: 'uid-of-db', ...shape.vm });
    const vmi = shape.vmi === null ? undefined : aVmi(vm, { createdAt: BEFORE, ...shape.vmi });
    const input = { vms: [vm], vmiOf: () => vmi, scope: shopWith(), plugs: { migrates: true } };
    expect(chooseVms({ operation: anOperation({ action }), ...input })).toEqual({ shop: { db: uid } });
    const leaving = [{ ...vm, deleting: true }];
    expect(chooseVms({ operation: anOperation({ action }), ...input, vms: leaving })).toEqual({});
  },
);

const CHANGED: VmView['changes'] = [{ id: 'uid-of-nightly', operation: 'nightly', need: 'Nothing' }];

test('a change includes all VMs that match, and its undo the VMs that record the change', () => {
  const shapes: Record<string, Shape> = {
    runs: {},
    stopped: { vm: { runStrategy: 'Halted' }, vmi: null },
    'made-since': { vm: { createdAt: AT + 1_000 } },
    changed: { vm: { changes: [{ id: 'another', operation: 'patch-1', need: 'Restart' }] } },
  };
  expect(choose({ action: 'Patch', patch: { merge: '{}' } }, shapes)).toEqual(['runs', 'stopped', 'changed']);
  expect(choose({ action: 'Patch', patch: { undo: 'patch-1' } }, shapes)).toEqual(['changed']);
});

test('a VM that a lost run has changed still belongs to it, though the VM has other labels by then', () => {
  const vms = { selector: { matchLabels: { tier: 'silver' } } };
  const shapes: Record<string, Shape> = { done: { vm: { changes: CHANGED } }, other: {} };
  expect(choose({ action: 'Patch', patch: { merge: '{}' }, vms }, shapes)).toEqual(['done']);
  const one = aVm('db', { owner: null, namespace: 'shop', createdAt: BEFORE });
  const isMeant = meantVms(anOperation({ action: 'Patch', patch: { merge: '{}' }, vms }), shopWith());
  expect([isMeant(one, undefined), isMeant({ ...one, changes: CHANGED }, undefined)]).toEqual([false, true]);
  expect(isMeant({ ...one, changes: CHANGED, namespace: 'bank' }, undefined)).toBe(false);
});

/** Whether a restart, a start and a stop are about a VM of the shop. */
const meant = (vms: OperationSpec['vms'], vm: Partial<VmView>, vmi: Partial<VmiView> | null = {}): boolean[] => {
  const one = aVm('db', { owner: null, namespace: 'shop', createdAt: BEFORE, ...vm });
  const own = vmi === null ? undefined : aVmi(one, { createdAt: BEFORE, ...vmi });
  return (['Restart', 'Start', 'Stop'] as const).map((action) =>
    meantVms(anOperation({ action, vms }), shopWith('uid-of-web'))(one, own),
  );
};

test('a run includes no VM that its operation does not include, whatever it was started with', () => {
  const names = { names: ['db'] };
  expect(meant(names, {})).toEqual([true, true, true]);
  expect(meant(names, { namespace: 'bank' })).toEqual([false, false, false]);
  expect(meant({ names: ['web'] }, {})).toEqual([false, false, false]);
  expect(meant(names, { createdAt: AT + 1_000 })).toEqual([true, false, false]);
  expect(meant(names, {}, { createdAt: AT + 1_000 })).toEqual([false, true, true]);
  expect(meant(names, {}, null)).toEqual([false, true, true]);
  expect(meant({ selector: { matchLabels: { app: 'web' } } }, {})).toEqual([false, false, false]);
  expect(meant({ selector: {} }, { role: 'Standby' })).toEqual([false, false, false]);
  expect(meant({ owner: { kind: 'VirtualMachinePool', name: 'web' } }, {})).toEqual([false, false, false]);
  // As it was when it was chosen: that changes while it is carried out.
  expect(meant({ runState: 'Stopped', restartRequired: true }, {})).toEqual([true, true, true]);
});

const ALL = ['db-1', 'db-2'].map((name) => aVm(name, { namespace: 'shop' }));

test.each<[string, Partial<OperationSpec>, string | null]>([
  ['VMs that all exist', { vms: { names: ['db-1', 'db-2'] } }, null],
  ['a name that is mistyped', { vms: { names: ['db-1', 'bd-2'] } }, 'no VM was touched: there is no VM bd-2'],
  ['an owner that exists', { vms: { owner: { kind: 'VirtualMachinePool', name: 'web' } } }, null],
  [
    'an owner that does not',
    { vms: { owner: { kind: 'VirtualMachinePool', name: 'wbe' } } },
    'no VM was touched: there is no VirtualMachinePool wbe',
  ],
  ['labels that no VM has', { vms: { selector: { matchLabels: { app: 'none' } } } }, null],
])('an operation on %s reports what is missing', (_what, spec, missing) => {
  const scope = shopWith(...(spec.vms?.owner?.name === 'web' ? ['uid-of-web'] : []));
  const input = { scope, vms: ALL, labelsOf: () => undefined };
  expect(missingOf({ operation: anOperation(spec), ...input })).toBe(missing);
  const begun = anOperation(spec, {}, { startTime: MADE_AT, conditions: [] });
  expect(missingOf({ operation: begun, ...input })).toBeNull();
});
