import { expect, test } from 'vitest';
import { otherTransitions } from '../../../decisions/machine-types/look.ts';
import { anOldVm, aTransition, aTypedPool, ID, OLD, OTHER, recordOfOurs, rulesOf, snapshotOf } from './snapshots.ts';

test('other transitions are those that have left something on chosen VMs or on pools', () => {
  const vms = [
    anOldVm('a'),
    anOldVm('b', { transitionLabel: OTHER }),
    anOldVm('c', { transition: recordOfOurs({ id: '77777777' }) }),
    anOldVm('d', { transitionLabel: ID }),
    anOldVm('e', { transitionLabel: '55555555' }),
  ];
  const pool = aTypedPool(OLD, {}, recordOfOurs({ id: '66666666' }));
  const others = otherTransitions(rulesOf(aTransition({ scope: { exclude: ['e'] } })), snapshotOf(vms, { pool }));
  expect([...others].sort()).toEqual(['66666666', '77777777', OTHER]);
});
