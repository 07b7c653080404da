import { Registry } from 'prom-client';
import { afterEach, expect, test, vi } from 'vitest';
import { TransitionGauge } from '../../../workers/metrics/transition-gauge.ts';

const counts = { toPatch: 1, toRestart: 2, waiting: 3, inPools: 4, deferred: 5, restarting: 6, excluded: 7, done: 8 };

afterEach(() => void vi.useRealTimers());

test('a transition is reported as it was last seen, and not for long after that', async () => {
  vi.useFakeTimers();
  const registry = new Registry();
  const gauge = new TransitionGauge(registry);
  gauge.look('0a1b2c3d', counts);
  gauge.look('0a1b2c3d', { ...counts, waiting: 9 });
  expect(await registry.metrics()).toContain(
    'drover_machine_type_transition_vms{transition="0a1b2c3d",state="waiting"} 9',
  );
  vi.advanceTimersByTime(100_000);
  gauge.look('4e5f6071', counts);
  const later = await registry.metrics();
  expect(later).toContain('{transition="4e5f6071",state="done"} 8');
  expect(later).not.toContain('0a1b2c3d');
});
