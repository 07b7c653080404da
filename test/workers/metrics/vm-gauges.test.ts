import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { vmGauges } from '../../../workers/metrics/vm-metrics.ts';
import { aVm } from '../../decisions/fixtures/fleets.ts';

test('VMs that wait for a restart are counted by namespace and pool, and leave no series behind', async () => {
  const registry = new Registry();
  const gauges = vmGauges(registry);
  const restartRequired = { since: null, message: 'a non-live-updatable field was changed' };
  const loose = aVm('db', { owner: null, restartRequired });
  gauges.look([aVm('web-1', { restartRequired }), aVm('web-2', { restartRequired }), aVm('web-3'), loose]);
  const series = async (): Promise<string[]> =>
    (await registry.metrics()).split('\n').filter((line) => /^[^#]/.test(line));
  expect(await series()).toEqual([
    'drover_vms_restart_required{namespace="shop",pool="web"} 2',
    'drover_vms_restart_required{namespace="shop",pool=""} 1',
  ]);
  gauges.look([aVm('web-1'), loose]);
  expect(await series()).toEqual(['drover_vms_restart_required{namespace="shop",pool=""} 1']);
});
