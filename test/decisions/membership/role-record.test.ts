import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RoleEntry } from '../../../api/pool/pool.ts';
import {
  announced,
  identified,
  reconciled,
  roleIn,
  roleSteps,
  unannounced,
} from '../../../decisions/membership/roles.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import { aPool, aVm, quiet } from '../fixtures/fleets.ts';

const AT = '2026-01-01T00:00:00.000Z';
const NOW = Date.parse(AT);
const HOUR_MS = 3_600_000;

const extra = (more: Partial<RoleEntry> = {}): RoleEntry => ({ vm: 'web-4', role: 'Surge', at: AT, ...more });
const withRoles = (roles: RoleEntry[], spec = {}) => ({ ...aPool(spec), status: { replicas: 0, roles } });
const isThere = (name: string) => `uid-of-${name}`;
const isGone = () => undefined;

const isAboutRoles = ({ kind }: { kind: string }): boolean => kind === 'setRoles';

describe('the role of a VM', () => {
  test('is not given by its label alone', () => {
    const vm = aVm('web-4', { roleLabel: 'Surge' });
    expect(roleIn(aPool(), vm)).toBeNull();
    expect(roleIn(withRoles([extra({ uid: 'another' })]), vm)).toBeNull();
    expect(roleIn(withRoles([extra({ vm: 'web-3', uid: vm.uid })]), vm)).toBeNull();
  });

  test('is what the record of its UID says, whatever its label says', () => {
    const pool = withRoles([extra({ uid: 'uid-of-web-4' })]);
    for (const roleLabel of ['Surge', 'Standby', null] as const)
      expect(roleIn(pool, aVm('web-4', { roleLabel }))).toBe('Surge');
  });

  test('is the announced one until its UID is known, if the VM was made since', () => {
    const pool = withRoles([extra()]);
    const made = { roleLabel: 'Surge', createdAt: NOW + 3_000 } as const;
    expect(roleIn(pool, aVm('web-4', made))).toBe('Surge');
    expect(roleIn(pool, aVm('web-4', { ...made, roleLabel: null }))).toBeNull();
    expect(roleIn(pool, aVm('web-4', { ...made, createdAt: NOW - HOUR_MS }))).toBeNull();
  });
});

describe('an announcement', () => {
  test('allows a VM of its role under the name, and no other', () => {
    const pool = withRoles(announced([], { names: ['web-4'], role: 'Surge', at: AT }, isGone));
    expect(unannounced(pool, 'web-4', 'Surge')).toBeNull();
    expect(unannounced(pool, 'web-4', null)).not.toBeNull();
    expect(unannounced(pool, 'web-4', 'Standby')).not.toBeNull();
    expect(unannounced(pool, 'web-5', 'Surge')).not.toBeNull();
    expect(unannounced(pool, 'web-5', null)).toBeNull();
  });

  test('does not change the role of a VM that exists', () => {
    const before = [extra({ uid: 'uid-of-web-4', role: 'Standby' })];
    expect(announced(before, { names: ['web-4'], role: 'Surge', at: AT }, isThere)).toEqual(before);
    expect(announced(before, { names: ['web-4'], role: null, at: AT }, isThere)).toEqual(before);
    expect(announced(before, { names: ['web-4'], role: 'Surge', at: AT }, isGone)).toEqual([extra()]);
    expect(announced([], { names: ['web-4'], role: 'Surge', at: AT }, isThere)).toEqual([]);
  });

  test('is forgotten when a replica is to have the name', () => {
    expect(announced([extra()], { names: ['web-4'], role: null, at: AT }, isGone)).toEqual([]);
  });
});

describe('a record of UIDs', () => {
  const vm = aVm('web-4', { roleLabel: 'Surge', createdAt: NOW });

  test('includes a VM that was made just now', () => {
    expect(identified([extra()], { made: [{ vm, isNew: true }], role: 'Surge', at: AT })).toEqual([
      extra({ uid: vm.uid }),
    ]);
  });

  test('includes an older VM only if it was announced before: anyone who may label it could claim so as well', () => {
    const made = [{ vm, isNew: false }];
    expect(identified([extra()], { made, role: 'Surge', at: AT })).toEqual([extra({ uid: vm.uid })]);
    expect(identified([], { made, role: 'Surge', at: AT })).toEqual([]);
    const old = [{ vm: { ...vm, createdAt: NOW - HOUR_MS }, isNew: false }];
    expect(identified([extra()], { made: old, role: 'Surge', at: AT })).toEqual([extra()]);
  });
});

test('a record of roles is brought up to date with the VMs that exist', () => {
  const vm = aVm('web-4', { roleLabel: 'Surge', createdAt: NOW });
  expect(reconciled([extra()], () => vm, NOW)).toEqual([extra({ uid: vm.uid })]);
  expect(reconciled([extra({ uid: 'another' })], () => vm, NOW)).toEqual([]);
  expect(reconciled([extra({ uid: vm.uid })], () => undefined, NOW)).toEqual([]);
  expect(reconciled([extra()], () => undefined, NOW)).toEqual([extra()]);
  expect(reconciled([extra()], () => undefined, NOW + HOUR_MS)).toEqual([]);
});

describe('a plan', () => {
  const three = ['web-1', 'web-2', 'web-3'].map((name) => aVm(name));
  const stepsOf = (given: Partial<Parameters<typeof roleSteps>[0]>) =>
    roleSteps({ pool: aPool(), vms: three, inProgress: quiet.inProgress, now: NOW, ...given });

  test('makes labels follow the record, and does nothing else because of them', () =>
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('Surge', 'Standby', null), { minLength: 3, maxLength: 3 }),
        fc.constantFrom({}, { standby: { replicas: 0 } }, { maxSurge: 1 }),
        (labels, spec) => {
          const pool = aPool({ replicas: 3, ...spec });
          const plan = (vms: typeof three) => planPool({ ...quiet, pool, vms, burst: 250 });
          const honest = plan(three);
          const forged = plan(three.map((vm, index) => ({ ...vm, roleLabel: labels[index]! })));
          const others = forged.steps.filter((step) => !isAboutRoles(step));
          const wrong = labels.filter((label) => label !== null).length;
          expect(forged.steps.filter(isAboutRoles)).toHaveLength(Math.min(wrong, 1));
          if (wrong === 0) expect(others).toEqual(honest.steps);
          // Tidying up waits until there is nothing else to do.
          else
            expect(honest.steps.map(({ kind }) => kind)).toEqual(
              expect.arrayContaining(others.map(({ kind }) => kind)),
            );
          expect(forged.status?.replicas).toBe(honest.status?.replicas);
        },
      ),
    ));

  test('corrects nothing if all is as recorded, or is being made', () => {
    const extraVm = aVm('web-4', { role: 'Surge' });
    const pool = withRoles([extra({ uid: extraVm.uid })]);
    expect(stepsOf({ pool, vms: [...three, extraVm] }).steps).toEqual([]);
    const making = { ...quiet.inProgress, creating: ['web-4'] };
    expect(stepsOf({ pool: withRoles([extra()]), inProgress: making })).toEqual({ steps: [], requeueAt: null });
  });

  test('forgets a VM that is gone, and a VM that was not made within five minutes', () => {
    expect(stepsOf({ pool: withRoles([extra({ uid: 'gone' })]) }).steps).toMatchObject([{ kind: 'setRoles', vms: [] }]);
    const { steps, requeueAt: wakeAt } = stepsOf({ pool: withRoles([extra()]) });
    expect({ steps, requeueAt: wakeAt }).toEqual({ steps: [], requeueAt: NOW + 300_000 });
    expect(stepsOf({ pool: withRoles([extra()]), now: NOW + 300_000 }).steps).toMatchObject([{ kind: 'setRoles' }]);
  });
});
