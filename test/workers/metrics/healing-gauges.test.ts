import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { poolGauges } from '../../../workers/metrics/pool-gauges.ts';
import { condition, cycle, healingPool, finished, type UserRequest } from '../../clients/healing/pools.ts';

const metricsOf = (...looks: UserRequest[][]): Promise<string> => {
  const registry = new Registry();
  const gauges = poolGauges(registry);
  for (const pools of looks) gauges.look(pools.map((said) => healingPool(said) as StoredPool));
  return registry.metrics();
};

const OF_POOL = 'namespace="default",pool="web"';

test('the gauges show cycles by their phase, VMs that were given up, and why a pool heals none', async () => {
  const told = await metricsOf([
    {
      healing: {
        cycles: [cycle(), cycle({ vm: 'web-2', phase: 'Waiting' }), cycle({ vm: 'web-3', phase: 'Waiting' })],
        finished: [finished(), finished({ vm: 'web-4', end: 'GivenUp' })],
      },
      conditions: [condition('HealingSuspended', 'True', 'TooManyUnhealthy')],
    },
  ]);
  for (const [phase, count] of Object.entries({ Removing: 1, Waiting: 2, Provisioning: 0 })) {
    expect(told).toContain(`drover_healing_cycles{${OF_POOL},phase="${phase}"} ${count}\n`);
  }
  expect(told).toContain(`drover_healing_given_up{${OF_POOL}} 1\n`);
  expect(told).toContain(`drover_healing_suspended{${OF_POOL},reason="TooManyUnhealthy"} 1\n`);
});

test('a pool that heals, and has nothing to heal, has zeros, and is not suspended', async () => {
  const told = await metricsOf([{ healing: {}, conditions: [condition('HealingSuspended', 'False', 'NotSuspended')] }]);
  expect(told).toContain(`drover_healing_cycles{${OF_POOL},phase="Waiting"} 0\n`);
  expect(told).not.toContain('drover_healing_suspended{');
});

test.each<[string, UserRequest[]]>([
  ['that does not heal', [{}]],
  ['that is gone', []],
])('nothing of a pool %s', async (_what, pools) =>
  expect(await metricsOf([{ healing: {} }], pools)).not.toMatch(/drover_healing_\w+\{/),
);
