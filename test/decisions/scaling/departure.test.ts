import { describe, expect, test } from 'vitest';
import { ORPHAN_FINALIZER, POOL_FINALIZER, REMOVE_VMS_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { RemovalCause } from '../../../decisions/owners/steps.ts';
import { creationBlockedBy, removalBlockedBy } from '../../../decisions/scaling/removal-check.ts';
import type { MemberRole } from '../../../decisions/views/vm.ts';
import { aPool, aVm } from '../fixtures/fleets.ts';

const vms = ['web-1', 'web-2', 'web-3', 'web-4'].map((name) => aVm(name));
const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z', generation: 2 };
const orphaned = { ...deleted, finalizers: [POOL_FINALIZER, ORPHAN_FINALIZER] };

const stays = (cause: RemovalCause, pool: ReturnType<typeof aPool> | undefined, active = vms) =>
  removalBlockedBy({ cause, owner: pool, vms: active, leaving: [aVm('web-1')] });
const isLeftOut = (pool: ReturnType<typeof aPool> | undefined, generation?: number, others = 4) =>
  creationBlockedBy({ generation, owner: pool, others });

const naming = (uid: string) => ({ generation: 7, annotations: { [REMOVE_VMS_ANNOTATION]: `{"web-1":"${uid}"}` } });

describe('a VM', () => {
  const surplus: RemovalCause = { because: 'Surplus', generation: 1, others: ['web-2'] };
  test('leaves as surplus only for the spec that it was planned for', () => {
    expect(stays(surplus, aPool({ replicas: 2 }))).toBeNull();
    expect(stays(surplus, aPool({ replicas: 2 }, { generation: 3 }))).toMatch(/has changed/);
    expect(stays(surplus, aPool({ replicas: 2 }, deleted))).toMatch(/has changed/);
    expect(stays(surplus, undefined)).toMatch(/is gone/);
  });

  test('leaves as surplus only if enough VMs stay, whatever else is on its way out', () => {
    expect(stays(surplus, aPool({ replicas: 3 }))).toMatch(/2 VMs of 3/);
    expect(stays({ ...surplus, others: [] }, aPool({ replicas: 3 }))).toBeNull();
    expect(
      stays(
        surplus,
        aPool({ replicas: 2 }),
        vms.filter((vm) => vm.name !== 'web-4'),
      ),
    ).toMatch(/1 VMs of 2/);
    expect(
      stays(
        surplus,
        aPool({ replicas: 2 }),
        vms.filter((vm) => vm.name !== 'web-1' && vm.name !== 'web-2'),
      ),
    ).toBeNull();
  });

  test('leaves with its pool only if the deletion includes its VMs', () => {
    expect(stays({ because: 'OwnerDeleted' }, aPool({}, deleted))).toBeNull();
    expect(stays({ because: 'OwnerDeleted' }, aPool())).not.toBeNull();
    expect(stays({ because: 'OwnerDeleted' }, aPool({}, orphaned))).not.toBeNull();
  });

  test('leaves by its name as long as users want that, and whatever the pool wants', () => {
    const named: RemovalCause = { because: 'Named' };
    expect(stays(named, aPool({ replicas: 9 }, naming('uid-of-web-1')))).toBeNull();
    expect(stays(named, aPool({ replicas: 9 }, naming('another')))).toMatch(/no longer requested/);
    const kept = { annotations: { [REMOVE_VMS_ANNOTATION]: '{"web-1":{"uid":"uid-of-web-1","keep":true}}' } };
    expect(stays(named, aPool({}, kept))).toMatch(/no longer requested/);
    expect(stays(named, aPool({ replicas: 0 }))).toMatch(/no longer requested/);
    expect(stays(named, aPool({}, { ...deleted, ...naming('uid-of-web-1') }))).toMatch(/being deleted/);
  });

  test('leaves as surplus only if enough VMs stay without those that are to be removed by name', () => {
    const annotations = { [REMOVE_VMS_ANNOTATION]: '{"web-4":"uid-of-web-4"}' };
    const one: RemovalCause = { because: 'Surplus', generation: 1, others: [] };
    expect(stays(one, aPool({ replicas: 3 }, { annotations }))).toMatch(/2 VMs of 3/);
    expect(stays(one, aPool({ replicas: 2 }, { annotations }))).toBeNull();
  });

  test('leaves once it is labelled, whatever the spec says by then, unless the pool is deleted without its VMs', () => {
    expect(stays({ because: 'Annotated' }, aPool({ replicas: 9 }, { generation: 7 }))).toBeNull();
    expect(stays({ because: 'Annotated' }, aPool({}, orphaned))).not.toBeNull();
  });
});

describe('a new VM', () => {
  test('is made for a number of VMs that is still wanted', () => {
    expect(isLeftOut(aPool({ replicas: 5 }), 1)).toBeNull();
    expect(isLeftOut(aPool({ replicas: 5 }, { generation: 2 }), 1)).toMatch(/has changed/);
    expect(isLeftOut(aPool({ replicas: 5 }, deleted), 2)).toMatch(/gone/);
    expect(isLeftOut(undefined, 1)).toMatch(/gone/);
  });

  test('is made in place of another while the pool has fewer than it wants', () => {
    expect(isLeftOut(aPool({ replicas: 5 }, { generation: 9 }))).toBeNull();
    expect(isLeftOut(aPool({ replicas: 4 }))).toMatch(/4 VMs of 4/);
    expect(isLeftOut(aPool({ replicas: 5 }), undefined, 5)).toMatch(/5 VMs of 5/);
  });

  test('is not made once users have put another into its place, though the spec is the same', () => {
    expect(isLeftOut(aPool({ replicas: 5 }), 1, 5)).toMatch(/5 VMs of 5/);
  });

  test('that is extra or a standby VM is counted among its like', () => {
    const pool = aPool({ replicas: 9, maxSurge: 2, standby: { replicas: 1 } });
    const blocked = (role: MemberRole, others: number) =>
      creationBlockedBy({ generation: 1, owner: pool, others, role });
    expect(blocked('Surge', 1)).toBeNull();
    expect(blocked('Surge', 2)).toMatch(/2 VMs of 2/);
    expect(blocked('Standby', 0)).toBeNull();
    expect(blocked('Standby', 1)).toMatch(/1 VMs of 1/);
  });
});
