import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BudgetSpec, DisruptionReason } from '../../../../api/budgets/budget.ts';
import { allowedBy, asks, hoursAt } from '../../../../decisions/disruption-budget/any-vms/allowed.ts';
import { budgetOf } from './fixtures.ts';

const at = (time: string): number => Date.parse(`2026-11-23T${time}Z`);

test.for<[Partial<BudgetSpec>, number, number, number | null]>([
  [{ maxUnavailable: 1 }, 3, 3, 1],
  [{ maxUnavailable: 1 }, 3, 2, 0],
  [{ maxUnavailable: 1 }, 3, 1, -1],
  [{ maxUnavailable: 1 }, 3, 4, 2],
  [{ maxUnavailable: 0 }, 3, 3, 0],
  [{ maxUnavailable: '0%' }, 3, 3, 0],
  [{ maxUnavailable: '10%' }, 3, 3, 1],
  [{ maxUnavailable: '10%' }, 25, 25, 2],
  [{ maxUnavailable: '100%' }, 3, 3, 3],
  [{ minAvailable: 2 }, 3, 3, 1],
  [{ minAvailable: 3 }, 3, 3, 0],
  [{ minAvailable: 2 }, 1, 1, -1],
  [{ minAvailable: '50%' }, 3, 3, 1],
  [{ minAvailable: '1%' }, 3, 1, 0],
  [{ minAvailable: '0%' }, 3, 1, 1],
  [{ maxMigrating: 1 }, 3, 3, null],
])('of %j with %i expected and %i available, %s more may go down', ([spec, expected, available, allowed]) =>
  expect(allowedBy(budgetOf(spec).spec, { expected, available, migrating: 0 })).toBe(allowed),
);

test.for<[Partial<BudgetSpec>, DisruptionReason, boolean]>([
  [{}, 'Drain', true],
  [{}, 'Removal', true],
  [{ reasons: ['Drain', 'Wish'] }, 'Wish', true],
  [{ reasons: ['Drain', 'Wish'] }, 'Rollout', false],
])('whether a budget of %j holds a disruption for %s: %s', ([spec, reason, holds]) =>
  expect(asks(budgetOf({ maxUnavailable: 1, ...spec }), reason, at('12:00:00'))).toBe(holds),
);

test.for<['Allow' | 'Deny', string, boolean]>([
  ['Allow', '07:59:49', false],
  ['Allow', '07:59:51', true],
  ['Allow', '12:00:00', true],
  ['Allow', '18:00:01', false],
  ['Deny', '07:00:00', true],
  ['Deny', '12:00:00', true],
  ['Deny', '18:00:01', true],
])(
  'whether a budget that holds from eight to six, and else says %s, is asked at %s: %s',
  ([outside, time, isAsked]) => {
    const windows = [{ cron: '0 8 * * *', duration: '10h' }];
    expect(asks(budgetOf({ maxUnavailable: 1, windows, outside }), 'Restart', at(time))).toBe(isAsked);
  },
);

test('what a budget says of a time does not depend on which times it was asked about before', () =>
  fc.assert(
    fc.property(fc.constantFrom('Allow', 'Deny'), fc.array(fc.nat(5)), (outside, hours) => {
      const fresh = () => budgetOf({ windows: [{ cron: '0 2 * * *', duration: '1h' }], outside }).spec;
      const asked = fresh();
      for (const time of hours.map((hour) => at(`0${hour}:00:00`)))
        expect(hoursAt(asked, time)).toEqual(hoursAt(fresh(), time));
    }),
  ));
