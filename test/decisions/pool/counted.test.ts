import { expect, test } from 'vitest';
import { countedIn } from '../../../decisions/pool/counted.ts';
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
      const metadata = {
        namespace: 'shop',
        name: 'web-1',
        uid: 'uid-of-web-1',
        resourceVersion: '1',
        ...deletionTimestamp,
      };
      const object = { metadata: { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z' } };
      const at = '2026-01-01T00:00:00Z';
      const roles = role === null ? [] : [{ vm: 'web-1', uid: 'uid-of-web-1', role, at }];
      expect(status?.replicas ?? 0).toBe(countedIn({ status: { replicas: 0, roles } })(object) ? 1 : 0);
    }
  },
);
