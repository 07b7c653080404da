import { expect, test } from 'vitest';
import { actOf, newRolloutState, paused } from '../../../../decisions/rollout/state/state.ts';

test('the text of a signal is cut to what the status accepts', () => {
  const asked = { by: 'x'.repeat(500), reason: 'y'.repeat(5_000) };
  expect(paused(newRolloutState('r', 'then'), asked, 'now').paused).toEqual({
    by: 'x'.repeat(256),
    at: 'now',
    reason: 'y'.repeat(1024),
  });
  expect(actOf({ by: 7 }, 'now')).toEqual({ by: '7', at: 'now' });
  expect(actOf({}, 'now')).toEqual({ by: 'unknown', at: 'now' });
});
