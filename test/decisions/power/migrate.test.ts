import { describe, expect, test } from 'vitest';
import type { VmsSnapshot } from '../../../decisions/disruption-budget/restart-budget.ts';
import { powerNeed } from '../../../decisions/power/need.ts';
import { deadlineOf, outcomeOf, type OutcomeInput, type VmInProgress } from '../../../decisions/power/outcome.ts';
import { planPower } from '../../../decisions/power/plan.ts';
import { targetOfVmi } from '../../../decisions/power/target.ts';
import { isUntouched, newPowerRecord } from '../../../decisions/power/untouched.ts';
import type { Evacuation } from '../../../decisions/views/evacuation.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aVm, aVmi, BY_USER } from '../fixtures/fleets.ts';

const NOW = 1_000_000;
const MINUTE = 60_000;

const db = aVm('db', { owner: null });
const POD = { pod: 'old-pod' };
const TARGET = targetOfVmi('Migrate', aVmi(db, POD));

const tried = (state: Evacuation['state'], fields: Partial<Evacuation> = {}): Evacuation => ({
  attempt: 3,
  state,
  ended: 0,
  failures: 0,
  since: NOW,
  begunAt: NOW,
  endedAt: state === 'Unfinished' ? null : NOW,
  whyFailed: null,
  ...fields,
});

const needOf = (vm: Partial<VmView>, vmi: Partial<VmiView> | null) => {
  const one = { ...db, ...vm };
  const live = vmi === null ? undefined : aVmi(one, { ...POD, ...vmi });
  return powerNeed('Migrate', { target: TARGET, vm: one, vmi: live, owner: undefined });
};

describe("a migration's need", () => {
  test.each<[string, Partial<VmView>, Partial<VmiView> | null, object]>([
    ['is done to a VM that runs in the pod that was chosen', {}, {}, { need: 'act' }],
    ['is not needed once somebody has moved it', {}, { pod: 'new-pod' }, { need: 'nothing' }],
    ['is not for another VMI of the VM', {}, { uid: 'another' }, { need: 'nothing' }],
    ['is not for a VM that is stopped', { runStrategy: 'Halted' }, null, { need: 'nothing' }],
    ['leaves what nobody may disrupt', { optedOut: true }, {}, { need: 'excluded' }],
    ['waits for a person who has paused it', {}, { pause: BY_USER }, { need: 'deferred' }],
    [
      'waits while another one moves it',
      {},
      { migration: { name: 'm', phase: 'Running', createdAt: 0 } },
      { need: 'deferred' },
    ],
    ['waits for one that starts', {}, { phase: 'Scheduled' }, { need: 'deferred', message: 'its VMI is Scheduled' }],
    [
      "leaves one that KubeVirt can't migrate, and says why in its words",
      {},
      { migratable: false, whyNotMigratable: 'disk root is not shared' },
      { need: 'excluded', message: "KubeVirt can't migrate it: disk root is not shared" },
    ],
  ])('%s', (_what, vm, vmi, need) => {
    expect(needOf(vm, vmi)).toMatchObject(need);
  });
});

test('the limit says how many VMs migrate at once, and VMs that are not ready count', () => {
  const vms = Array.from({ length: 6 }, (_, index) => aVm(`vm-${index}`, { owner: null, ready: index !== 0 }));
  const byKey = new Map(vms.map((vm) => [`${vm.namespace}/${vm.name}`, vm]));
  const snapshot: VmsSnapshot = {
    vmOf: (key) => byKey.get(key),
    vmiOf: (vm) => aVmi(vm, { ...POD, evacuation: tried('Succeeded') }),
    poolOf: () => undefined,
  };
  const chosen = new Map([...byKey].map(([key, vm]) => [key, targetOfVmi('Migrate', snapshot.vmiOf(vm)!)]));
  const none = { inProgress: new Set<string>(), ended: new Set<string>(), whyNot: () => null, whyExcluded: () => null };
  const plan = planPower({ action: 'Migrate', chosen, snapshot, ...none, atOnce: 2, mayStart: true, now: NOW });
  expect(plan.admitted.map(({ vm }) => vm)).toContain('shop/vm-0');
  expect(plan.admitted).toHaveLength(2);
  for (const taken of plan.admitted) expect(taken).toMatchObject({ pod: 'old-pod', migration: 4 });
  expect(plan.open).toBe(6);
});

describe('the end of a migration', () => {
  const held: VmInProgress = {
    vm: 'shop/db',
    uid: db.uid,
    since: NOW,
    vmi: aVmi(db).uid,
    pod: 'old-pod',
    migration: 3,
  };
  const inputOf = (vmi: Partial<VmiView> | null, now = NOW + 1): OutcomeInput => ({
    action: 'Migrate',
    snapshot: {
      vmOf: () => db,
      vmiOf: (vm) => (vmi === null ? undefined : aVmi(vm, { ...POD, ...vmi })),
      poolOf: () => undefined,
    },
    deadlineMs: MINUTE,
    now,
  });
  const MOVED = { pod: 'new-pod', evacuation: tried('Succeeded') };

  test.each<[string, Partial<VmiView> | null, object | null]>([
    ['it is not known before KubeVirt has made anything of it', {}, null],
    ['it goes on', { evacuation: tried('Unfinished') }, null],
    ['its VMI has moved, and its migration has not ended', { ...MOVED, evacuation: tried('Unfinished') }, null],
    ['its VMI has moved, and is not ready', { ...MOVED, ready: false }, null],
    ['its VMI has moved, and is ready', MOVED, { end: 'Migrated' }],
    ['KubeVirt no longer has the migration', { pod: 'new-pod' }, { end: 'Migrated' }],
    ['it has failed, and KubeVirt does not say why yet', { evacuation: tried('Failed') }, null],
    [
      'it has failed',
      { evacuation: tried('Failed', { whyFailed: 'no node fits' }) },
      { end: 'Failed', message: 'its migration has failed: no node fits' },
    ],
    ['an earlier one has failed', { evacuation: tried('Failed', { attempt: 2, whyFailed: 'no node fits' }) }, null],
    ['it was restarted meanwhile', { uid: 'another' }, { end: 'Gone' }],
    ['it was stopped meanwhile', null, { end: 'Gone' }],
  ])('%s', (_what, vmi, outcome) => {
    const found = outcomeOf(held, inputOf(vmi));
    if (outcome === null) expect(found).toBeNull();
    else expect(found).toMatchObject({ vm: 'shop/db', ...outcome });
  });

  test('a VM that was not ready before the migration need not be ready after it', () => {
    expect(outcomeOf({ ...held, wasDown: true }, inputOf({ ...MOVED, ready: false }))).toMatchObject({
      end: 'Migrated',
      wasDown: true,
    });
  });

  test("a migration's time counts from when KubeVirt begins, but nothing waits for ever", () => {
    const waiting = { evacuation: tried('Unfinished', { begunAt: null }) };
    expect(deadlineOf(held, inputOf(waiting, NOW + 10))).toBe(NOW + 10 + MINUTE);
    expect(deadlineOf(held, inputOf(waiting, NOW + 5 * MINUTE))).toBe(NOW + 2 * MINUTE);
    expect(outcomeOf(held, inputOf(waiting, NOW + 2 * MINUTE))).toMatchObject({
      end: 'Failed',
      message: 'not migrated in time: its migration has not ended',
    });
  });
});

test('a note tells whether such a migration was made, though the VM looks as before', () => {
  const vmi = aVmi(db, POD);
  const begun = { vm: 'shop/db', uid: db.uid, since: NOW, vmi: vmi.uid, pod: 'old-pod', migration: 3 };
  const note = newPowerRecord({ by: 'uid-of-operation' }, begun, db, vmi);
  const asIs = (fields: Partial<VmiView>): boolean => isUntouched(note, db, aVmi(db, { ...POD, ...fields }));
  expect(asIs({})).toBe(true);
  expect(asIs({ evacuation: tried('Failed', { attempt: 2 }) })).toBe(true);
  expect(asIs({ evacuation: tried('Unfinished') })).toBe(false);
  expect(asIs({ evacuation: tried('Failed') })).toBe(false);
  expect(asIs({ pod: 'new-pod' })).toBe(false);
  expect(isUntouched(note, db, undefined)).toBe(false);
});
