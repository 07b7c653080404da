import { expect, onTestFinished, test } from 'vitest';
import type { Autohealing } from '../../../api/pool/pool.ts';
import { readRules } from '../../../deploy/monitoring/generate.ts';
import { choosePorts } from '../../../dev/process/ports.ts';
import { SDK_METRICS } from '../../deploy/monitoring/exported.ts';
import { expressionsOfDashboard, readQuery } from '../../deploy/monitoring/queries.ts';
import { aFleet, until } from '../fleet.ts';
import { HealedPool, QUICK, withFastStarts } from './healings.ts';

const fleet = aFleet({ workers: 0 });
withFastStarts(fleet);

/** A pool whose metrics a worker exposes; `untilTold` waits for lines of them. */
async function measured(autohealing: Autohealing): Promise<{
  pool: HealedPool;
  ofPool: string;
  untilTold: (...lines: string[]) => Promise<void>;
  sdkMetrics: () => Promise<string>;
  scraped: () => Promise<string>;
}> {
  const { ui: port, temporal: sdk } = await choosePorts(['ui', 'temporal'], {}, {});
  const ports = { DROVER_HEALTH_PORT: String(port), DROVER_TEMPORAL_METRICS_PORT: String(sdk) };
  const worker = await fleet().startWorker({ ...ports, DROVER_BURST: '100' });
  onTestFinished(async () => void (await worker.stop()));
  const pool = await HealedPool.ready(fleet(), { replicas: 3, autohealing });
  // All series have the label of the cluster, wherever it stands.
  const scraped = async (): Promise<string> =>
    (await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).replaceAll(
      /,cluster="default"(?=})|cluster="default",/g,
      '',
    );
  const untilTold = (...lines: string[]): Promise<void> =>
    until(async () => {
      const told = (await scraped()).split('\n');
      expect(told).toEqual(expect.arrayContaining(lines));
    });
  const sdkMetrics = async (): Promise<string> => (await fetch(`http://127.0.0.1:${sdk}/metrics`)).text();
  const { items } = (await (await fetch(`http://127.0.0.1:${port}/config`)).json()) as { items: object[] };
  expect(items).toEqual(
    expect.arrayContaining([
      { setting: 'worker.burst', value: '100', from: 'DROVER_BURST' },
      { setting: 'worker.healthPort', value: `${port}`, from: 'DROVER_HEALTH_PORT' },
    ]),
  );
  return { pool, ofPool: `namespace="${pool.pool.namespace}",pool="web"`, untilTold, sdkMetrics, scraped };
}

test('a worker measures which VMs are being replaced, how often, and that a user has paused it', async () => {
  const { pool, ofPool, untilTold, sdkMetrics, scraped } = await measured({
    ...QUICK,
    backoff: { initial: '1h', jitter: 0 },
  });
  await untilTold(`drover_healing_cycles{${ofPool},phase="Waiting"} 0`);
  await pool.break(1);
  await untilTold(
    `drover_healing_cycles{${ofPool},phase="Waiting"} 1`,
    'drover_healing_replacements_total{cluster="default"} 1',
  );
  await pool.pool.heal({ action: 'pause' });
  await untilTold(`drover_healing_suspended{${ofPool},reason="PausedByUser"} 1`);
  // Each name that alerts and the dashboard use is there, and what only a run can show has been measured.
  const text = await scraped();
  const asked = [
    ...readRules().groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)),
    ...expressionsOfDashboard(),
  ];
  for (const { name } of asked.flatMap((expr) => readQuery(expr).selectors))
    if (!name.startsWith('temporal_')) expect(text).toContain(`# TYPE ${name.replace(/_(bucket|count|sum)$/, '')} `);
  for (const seen of [
    'drover_signal_delay_seconds_count{kind="pool"}',
    'drover_plan_seconds_count{kind="VirtualMachinePool"}',
  ])
    expect(Number(text.split(`${seen} `)[1]?.split('\n')[0])).toBeGreaterThan(0);
  // What alerts and the dashboard ask of Temporal's SDK, but for failures, of which there are none.
  const { temporal_workflow_task_execution_failed: _, temporal_workflow_failed: __, ...always } = SDK_METRICS;
  const told = await sdkMetrics();
  for (const [name, labels] of Object.entries(always)) {
    const [, shown = ''] = new RegExp(`^${name}\\{(.*)\\} `, 'm').exec(told) ?? [];
    expect([...shown.matchAll(/(\w+)="/g)].map(([, label]) => label!)).toEqual(
      expect.arrayContaining([...labels, 'cluster']),
    );
  }
});
