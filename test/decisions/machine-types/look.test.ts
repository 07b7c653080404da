import { expect, test } from 'vitest';
import { otherTransitions } from '../../../decisions/machine-types/look.ts';
import { anOldVm, aTransition, ID, OTHER, recordOfOurs, rulesOf, snapshotOf } from './snapshots.ts';

test('other transitions are those that have left something on chosen VMs', () => {
  const vms = [
    anOldVm('a'),
    anOldVm('b', { transitionLabel: OTHER }),
    anOldVm('c', { transition: recordOfOurs({ id: '77777777' }) }),
    anOldVm('d', { transitionLabel: ID }),
    anOldVm('e', { transitionLabel: '55555555' }),
  ];
  const others = otherTransitions(rulesOf(aTransition({ scope: { exclude: ['e'] } })), snapshotOf(vms));
  expect([...others].sort()).toEqual(['77777777', OTHER]);
});
