import { expect, test } from 'vitest';
import type { Planned } from '../../../activities/owners/plan-request.ts';
import { poolDetails } from '../../../workflows/pool/details.ts';

const AT = '2026-01-01T00:00:00Z';
const failures = Array.from({ length: 22 }, (_, n) => ({ vm: `web-${n + 1}`, message: 'not *ready* in time', at: AT }));
const planned = {
  gone: false,
  phase: 'RollingOut',
  counts: { wanted: 30, present: 30, ready: 8, updated: 22, byState: {} },
  rollout: {
    phase: 'RollingOut',
    target: '0a1b2c',
    state: { paused: { by: 'ada', at: AT, reason: 'lunch' }, failures },
    waits: [
      { kind: 'Vms', message: 'web-23: it migrates' },
      { kind: 'Budget', message: '22 VMs are unavailable, and maxUnavailable allows 3' },
    ],
  },
  healing: { state: { cycles: [] }, suspended: null, notReplaced: [], notListed: 0 },
} as unknown as Planned;

test('the Web UI shows of the rollout of a pool what it shows of any run, in the same order', () => {
  const batch = { n: 3, revision: '0a1b2c', rollout: '0a1b2c', vms: [{ name: 'web-24' }], startedAt: 0 };
  const state = { rollout: null, batches: [batch], notBefore: 0, deferrals: 0 } as unknown as Parameters<
    typeof poolDetails
  >[3];
  const backoff = { state: { recentErrors: [] }, retryAt: null } as unknown as Parameters<typeof poolDetails>[2];
  const lines = poolDetails(planned, [], backoff, state).split('\n\n');
  const from = lines.indexOf('**Rollout of 0a1b2c**: RollingOut');
  expect(lines.slice(from + 1, from + 3)).toEqual([
    'paused by ada: lunch',
    String.raw`web-3 failed: not \*ready\* in time`,
  ]);
  expect(lines.slice(from + 22, from + 26)).toEqual([
    '2 more VMs failed',
    'the others wait: 22 VMs are unavailable, and maxUnavailable allows 3',
    'web-23: it migrates',
    'batch 3 to 0a1b2c: web-24',
  ]);
});
