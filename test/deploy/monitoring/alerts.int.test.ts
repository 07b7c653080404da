import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readRules } from '../../../deploy/monitoring/generate.ts';
import { defaultCache } from '../../../dev/paths.ts';
import { createMetrics } from '../../../workers/metrics/metrics.ts';
import { resolvePromtool } from '../../tools/go-tools.ts';
import { expressionsOfDashboard } from './queries.ts';
import { objectsOf, SCENARIOS, type Scenario, type Seen } from './scenarios.ts';

/** How long all is well before, in minutes. */
const WELL = 10;
const RULES = fileURLToPath(new URL('../../../deploy/monitoring/rules.yaml', import.meta.url));
const rules = readRules().groups.flatMap((group) => group.rules);

let promtool: string;
let folder: string;
beforeAll(async () => {
  promtool = await resolvePromtool({ cache: defaultCache(), onProgress: () => {} });
  folder = mkdtempSync(join(tmpdir(), 'drover-alerts-'));
});
afterAll(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

/** Runs promtool on a file with this content, and throws an error with what it says against it. */
async function run(command: 'check' | 'test', content: object): Promise<void> {
  const file = join(folder, `${command}.json`);
  writeFileSync(file, JSON.stringify(content));
  try {
    await promisify(execFile)(promtool, [command, 'rules', file]);
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`promtool: ${stdout}${stderr}`, { cause: error });
  }
}

/** Returns what a scrape of a worker shows, by series. */
async function scrape(
  { metrics, sdk, ...seen }: Seen,
  cluster: string,
  instance: string,
): Promise<Map<string, number>> {
  const { pool, set } = objectsOf({ metrics, sdk, ...seen });
  metrics.pools.look([pool]);
  metrics.sets.look([set]);
  metrics.operations.look(seen.operations);
  metrics.schedules.look(seen.schedules);
  metrics.budgets.look(seen.budgets);
  const target = `job="drover",instance="${instance}"`;
  const scraped = new Map(
    [...sdk].map(([series, value]) => [
      series.replace('}', `,cluster="${cluster}",${target}}`).replace('{,', '{'),
      value,
    ]),
  );
  for (const { name, values } of await metrics.registry.getMetricsAsJSON())
    for (const { metricName = name, labels, value } of values as unknown as Sample[]) {
      const own = Object.entries(labels).map(([label, is]) => `${label}="${is}"`);
      if (name.startsWith('drover_')) scraped.set(`${metricName}{${[...own, target].join(',')}}`, value);
    }
  return scraped;
}

interface Sample {
  /** For a part of a histogram. */
  metricName?: string;
  labels: Record<string, string | number>;
  value: number;
}

/**
 * Scrapes the two workers of each of two clusters each minute: first all is well, and then what the scenario says of
 * the cluster `east`. Prometheus knows the workers of both by the same names.
 */
async function recorded({ after, minute }: Scenario): Promise<{ series: string; values: string }[]> {
  const workers = ['east', 'west'].flatMap((cluster) =>
    [true, false].map((isFirst) => {
      const metrics = createMetrics(cluster);
      metrics.watchRunning.set({ served: cluster }, isFirst ? 1 : 0);
      metrics.serverLost.set(0);
      return {
        cluster,
        isFirst,
        seen: {
          metrics,
          pool: {},
          set: {},
          sdk: new Map<string, number>(),
          operations: [],
          schedules: [],
          budgets: [],
          minutes: 0,
        },
      };
    }),
  );
  const values = new Map<string, string[]>();
  for (let time = 0; time <= WELL + after; time++)
    for (const { cluster, seen, isFirst } of workers) {
      if (cluster === 'east' && time >= WELL) {
        seen.minutes++;
        minute(seen, isFirst);
      }
      for (const [series, value] of await scrape(seen, cluster, isFirst ? 'one' : 'other')) {
        const before = values.get(series) ?? [];
        values.set(series, [...before, ...Array<string>(time - before.length).fill('_'), String(value)]);
      }
    }
  return [...values].map(([series, all]) => ({ series, values: all.join(' ') }));
}

/** Asks which alerts fire after so many minutes: these. */
const asked = (minutes: number, alerts: string[]): object => ({
  expr: 'ALERTS{alertstate="firing"}',
  eval_time: `${minutes}m`,
  exp_samples: alerts.map((labels) => ({ labels, value: 1 })),
});

test('each alert has a scenario', () => {
  expect(Object.keys(SCENARIOS)).toEqual(rules.map(({ alert }) => alert));
});

test.each(Object.entries(SCENARIOS))(
  '%s fires, alone and for its cluster, on what the workers of two clusters export',
  async (alertname, scenario) => {
    const { labels: own } = rules.find(({ alert }) => alert === alertname) as unknown as { labels: object };
    const labels = Object.entries({ alertname, alertstate: 'firing', cluster: 'east', ...own, ...scenario.labels });
    const firing = `ALERTS{${labels.map(([label, value]) => `${label}="${value}"`).join(',')}}`;
    await run('test', {
      rule_files: [RULES],
      evaluation_interval: '1m',
      tests: [
        {
          interval: '1m',
          input_series: await recorded(scenario),
          promql_expr_test: [asked(WELL - 1, []), asked(WELL + scenario.after, [firing])],
        },
      ],
    });
  },
);

test('promtool accepts the alerts, and the queries of the dashboard', async () => {
  await run('check', readRules());
  const records = expressionsOfDashboard().map((expr, index) => ({ record: `panel:${index}`, expr }));
  await run('check', { groups: [{ name: 'dashboard', rules: records }] });
});

test("promtool's linter accepts the names and the words of drover's metrics", async () => {
  const file = join(folder, 'metrics.txt');
  const text = await createMetrics('east').registry.metrics();
  const own = text.split('\n').filter((line) => !/^(# \w+ )?(nodejs|process)_/.test(line));
  writeFileSync(file, own.join('\n'));
  await promisify(execFile)('sh', ['-c', '"$0" check metrics < "$1"', promtool, file]);
});

const watching = (cluster: string, served: string, values: string): object => ({
  series: `drover_watch_running{cluster="${cluster}",served="${served}"}`,
  values,
});
const unwatched = (labels: string): string =>
  `ALERTS{alertname="DroverNobodyWatches",alertstate="firing",severity="critical"${labels}}`;

test.each([
  ['a Prometheus without any worker', [{ series: 'up', values: '1x30' }], ''],
  [
    'one of three clusters whose workers are all gone',
    [watching('east', 'east', '1 1 1 stale'), watching('west', 'west', '1x30'), watching('south', 'south', '1x30')],
    ',cluster="east"',
  ],
  [
    'one of two namespaces that the same workers serve',
    [watching('east', 'east.shop', '1x30'), watching('east', 'east.bank', '1 1 1 0x30')],
    ',cluster="east",served="east.bank"',
  ],
])('%s is reported as unwatched', async (_, input_series, labels) => {
  await run('test', {
    rule_files: [RULES],
    evaluation_interval: '1m',
    tests: [{ interval: '1m', input_series, promql_expr_test: [asked(15, [unwatched(labels)])] }],
  });
});

const short = (instance: string, values: string): object => ({
  series: `drover_pool_unavailable_vms{cluster="east",namespace="shop",pool="web",instance="${instance}"}`,
  values,
});

test('an alert that fires outlasts the handover of the watch to another worker', async () => {
  const firing =
    'ALERTS{alertname="DroverPoolShort",alertstate="firing",cluster="east",namespace="shop",pool="web",severity="warning"}';
  const watched = watching('east', 'east', '1x30');
  await run('test', {
    rule_files: [RULES],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: [watched, short('one', '1x20 stale'), short('other', '_x21 1x8')],
        promql_expr_test: [20, 21, 22, 25].map((minute) => asked(minute, [firing])),
      },
    ],
  });
});
