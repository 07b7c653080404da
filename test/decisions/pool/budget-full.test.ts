import { expect, test } from 'vitest';
import type { PoolStatus } from '../../../api/pool/pool.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { aPool, quiet } from '../fixtures/fleets.ts';
import { at, DOWN, fresh, NEW, NEW_TEMPLATE, NOW, OLD, old, OLD_TEMPLATE } from '../fixtures/rollout-pools.ts';

const spec = { replicas: 3, maxUnavailable: 1, template: NEW_TEMPLATE };
const revisions = [
  { name: `web-${OLD}`, revision: OLD, number: 1, template: OLD_TEMPLATE },
  { name: `web-${NEW}`, revision: NEW, number: 2, template: NEW_TEMPLATE },
];

/** The status after a plan; `before`: the one that it has seen. */
function statusAfter(vms: VmView[], seconds: number, before?: PoolStatus): PoolStatus {
  const pool = { ...aPool(spec), ...(before === undefined ? {} : { status: before }) };
  const { status } = planPool({ pool, vms, ...quiet, revisions, burst: 10, now: NOW + seconds * 1_000 });
  return (status ?? before)!;
}

/** `web-1` is down, and was seen down since then. */
const downSince = (seconds: number): VmView => fresh(1, { ...DOWN, notReadySince: NOW + seconds * 1_000 });

test('a status says since when the budget is full, though a VM starts again and again, until another VM is updated', () => {
  const first = statusAfter([downSince(0), old(2), old(3)], 10);
  expect(first.budgetFullSince).toBe(at(NOW + 10_000));
  const again = statusAfter([downSince(300), old(2), old(3)], 310, first);
  expect(again.budgetFullSince).toBe(at(NOW + 10_000));
  const further = statusAfter([downSince(600), fresh(2), old(3)], 610, again);
  expect(further.budgetFullSince).toBe(at(NOW + 610_000));
  expect(statusAfter([fresh(1), fresh(2), fresh(3)], 700, further)).not.toHaveProperty('budgetFullSince');
});
