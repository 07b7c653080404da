import { expect, test } from 'vitest';
import { restartReasons, whyRestartIsVain } from '../../../decisions/operations/restart-required.ts';
import { aVm, aVmi } from '../fixtures/fleets.ts';

const restartRequired = { since: 0, message: 'a non-live-updatable field was changed' };
const vm = aVm('web-1', { restartRequired, generation: 3 });

test.each([
  ['an earlier spec', 2, true],
  ['an unknown spec', null, true],
  ['the spec that its VM has', 3, false],
])('a VM whose VMI was started from %s waits for a restart that helps: %j', (_what, startGeneration, helps) => {
  const vmi = aVmi(vm, { startGeneration, createdAt: Date.parse('2026-11-28T02:00:00Z') });
  expect(restartReasons(vm, vmi, { migrates: true })).toEqual(helps ? [restartRequired.message] : []);
  expect(whyRestartIsVain(vm, vmi)).toBe(
    helps
      ? null
      : 'it was restarted at 2026-11-28T02:00:00.000Z, and still waits: a non-live-updatable field was changed',
  );
});

test('a VM that waits for nothing is not said to wait in vain', () => {
  const other = aVm('web-1', { generation: 3 });
  expect(whyRestartIsVain(other, aVmi(other, { startGeneration: 3 }))).toBeNull();
});
