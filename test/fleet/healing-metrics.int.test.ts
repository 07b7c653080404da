import { expect, test } from 'vitest';
import { choosePorts } from '../../dev/ports.ts';
import { aFleet, until } from './fleet.ts';
import { HealedPool, QUICK, withFastStarts } from './healings.ts';

const fleet = aFleet({ workers: 0 });
withFastStarts(fleet);

test('a worker measures which VMs are being replaced, how often it was, and that a person has paused it', async () => {
  const { ui: port } = await choosePorts(['ui'], {}, {});
  await fleet().startWorker({ DROVER_HEALTH_PORT: `${port}` });
  const pool = await HealedPool.ready(fleet(), { replicas: 3, autohealing: { ...QUICK, backoff: { initial: '1h', jitter: 0 } } });
  const ofPool = `namespace="${pool.pool.namespace}",pool="web"`;
  const untilTold = (...lines: string[]): Promise<void> =>
    until(async () => {
      const told = (await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).split('\n');
      expect(told).toEqual(expect.arrayContaining(lines));
    });
  await untilTold(`drover_healing_cycles{${ofPool},phase="Waiting"} 0`);
  await pool.break(1);
  await untilTold(`drover_healing_cycles{${ofPool},phase="Waiting"} 1`, `drover_healing_replacements_total{${ofPool}} 1`);
  await pool.pool.workflow.signal('healPause', { by: 'kim' });
  await untilTold(`drover_healing_suspended{${ofPool},reason="PausedByPerson"} 1`);
});
