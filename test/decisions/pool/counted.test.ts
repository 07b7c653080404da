import { expect, test } from 'vitest';
import { ROLE_LABEL } from '../../../api/names.ts';
import { isCountedObject } from '../../../decisions/pool/counted.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import type { MemberRole } from '../../../decisions/views/vm.ts';
import { aPool, aVm, quiet } from '../fixtures/fleets.ts';

/** A pool is held until its status counts its VMs: who holds it would wait for ever for a count that is another. */
test.each([null, 'Surge', 'Standby'] as const)(
  "a pool's status counts a VM of role %s just as who waits for its status does",
  (role: MemberRole | null) => {
    for (const deleting of [false, true]) {
      const { status } = planPool({
        pool: aPool({ replicas: 1 }),
        vms: [aVm('web-1', { role, deleting })],
        ...quiet,
        burst: 250,
      });
      const deletionTimestamp = deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
      const labels = role === null ? {} : { [ROLE_LABEL]: role };
      const object = { metadata: { name: 'web-1', labels, ...deletionTimestamp } };
      expect(status?.replicas ?? 0).toBe(isCountedObject(object) ? 1 : 0);
    }
  },
);
