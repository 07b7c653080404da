import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ROLE_LABEL } from '../../../api/labels-and-annotations.ts';
import { grantClaims } from '../../../decisions/disruption-budget/grant-claims.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import { vmFromTemplate } from '../../../decisions/template/vm-from-template.ts';
import { roleOf, type MemberRole, type VmView } from '../../../decisions/views/vm.ts';
import { anyFleet, anyVm, aPool, aVm, quiet } from '../fixtures/fleets.ts';

const plan = (vms: readonly VmView[], input: Partial<PoolPlanInput> = {}) =>
  planPool({ pool: aPool(), vms, ...quiet, burst: 250, ...input });

/** VMs of other numbers than those of `anyFleet`, that are no replicas. */
const besides: fc.Arbitrary<VmView[]> = fc
  .uniqueArray(fc.integer({ min: 101, max: 120 }), { maxLength: 5 })
  .chain((numbers) =>
    fc.tuple(
      ...numbers.map((number) =>
        fc
          .tuple(anyVm(number), fc.constant<MemberRole>('Surge'))
          .map(([vm, role]): VmView => ({ ...vm, role, deleting: false, removing: false })),
      ),
    ),
  );

describe('members of a role', () => {
  test('change no number that is compared with replicas, and take no place', () =>
    fc.assert(
      fc.property(anyFleet, besides, fc.nat(30), (vms, others, replicas) => {
        const pool = aPool({ replicas });
        const [alone, both] = [plan(vms, { pool }), plan([...vms, ...others], { pool })];
        expect(both.phase).toBe(alone.phase);
        expect({ ...both.counts, surge: 0 }).toEqual(alone.counts);
        const shown = ({ steps }: typeof alone) =>
          steps
            .filter((step) => step.kind === 'create' || (step.kind === 'delete' && step.because !== 'Surge'))
            .map(({ reason }) => reason);
        expect(shown(both)).toEqual(shown(alone));
      }),
    ));

  test('keep their numbers', () => {
    const vms = [aVm('web-1'), aVm('web-2', { role: 'Surge' })];
    expect(plan(vms).steps).toMatchObject([{ kind: 'create', numbers: [3, 4] }]);
  });

  test('need no disruption budget, and are claimed at once', () => {
    const standby = aVm('web-9', { role: 'Standby', ready: false });
    const vms = [aVm('web-1'), aVm('web-2', { ready: false }), aVm('web-3'), standby];
    const context = { pool: aPool({ maxUnavailable: 1 }), vms, vmiOf: quiet.vmiOf };
    const asks = [standby, vms[0]!].map((vm) => ({ vm, vmi: quiet.vmiOf(vm), by: 'test' }));
    const { answers } = grantClaims(context, [], asks, new Date(0).toISOString());
    expect(answers).toEqual([
      null,
      'in pool shop/web, 1 VM is unavailable or in progress, and maxUnavailable allows 1',
    ]);
  });
});

test('only the pool gives a role, and an unknown role counts as none', () => {
  const { template } = aPool().spec;
  const labelled = { ...template, metadata: { labels: { [ROLE_LABEL]: 'Standby', tier: 'a' } } };
  const labelsOf = (role?: MemberRole) => vmFromTemplate(aPool(), labelled, 1, role).metadata.labels;
  expect([labelsOf(), labelsOf('Surge')].map(roleOf)).toEqual([null, 'Surge']);
  expect(labelsOf()).toMatchObject({ tier: 'a' });
  expect(roleOf({ [ROLE_LABEL]: 'Chief' })).toBeNull();
});
