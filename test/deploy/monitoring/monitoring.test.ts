import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { OPERATION_REASONS } from '../../../api/operations/reasons.ts';
import { CONDITION_REASONS } from '../../../api/reasons.ts';
import { generateRule, readRules } from '../../../deploy/monitoring/generate.ts';
import { readManifests } from '../rights.ts';
import { exportedSeries, SDK_METRICS, TARGET_LABELS } from './exported.ts';
import { readQuery, unknownWords } from './queries.ts';

const FOLDER = new URL('../../../deploy/monitoring/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, FOLDER), 'utf8');

interface Panel {
  id: number;
  title: string;
  type: string;
  datasource?: { uid: string };
  targets?: { expr: string; legendFormat: string }[];
  gridPos: { x: number; y: number; w: number; h: number };
}
const { panels, templating } = JSON.parse(read('dashboard.json')) as {
  panels: Panel[];
  templating: { list: { query: string | { query: string } }[] };
};
const rules = readRules().groups.flatMap((group) => group.rules);
const shown = panels.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target })));
const variables = templating.list.flatMap(({ query }) => (typeof query === 'string' ? [] : [query.query]));

/** Everything that asks for series: alerts, panels and the dashboard's variables. */
const expressions: [string, string][] = [
  ...rules.map(({ alert, expr }): [string, string] => [alert, expr]),
  ...shown.map(({ title, expr }): [string, string] => [title, expr]),
  ...variables.map((query): [string, string] => [
    query,
    query.replace(/^label_values\((.*), (\w+)\)$/, 'count by ($2) ($1)'),
  ]),
];

/** The values that a label can have, if the worker has a list of them. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  'drover_pool_rollout state': Object.keys(CONDITION_REASONS.Progressing),
  'drover_healing_suspended reason': Object.keys(CONDITION_REASONS.HealingSuspended),
  'drover_pool_draining_vms reason': Object.keys(CONDITION_REASONS.Draining),
  'drover_operations state': Object.keys(OPERATION_REASONS.Progressing),
};
const exported = exportedSeries();
const labelsOf = (name: string): readonly string[] => [...(exported.get(name) ?? []), ...TARGET_LABELS];

interface Workload {
  spec: {
    template: {
      metadata: { labels: object };
      spec: {
        containers: [{ ports: { name: string; containerPort: number }[] }];
      };
    };
  };
}

test('deploy/monitoring/prometheusrule.yaml is as rules.yaml generates it', () => {
  expect(read('prometheusrule.yaml')).toBe(generateRule());
});

test.each(expressions)('%s queries only series that workers export, by labels that these have', (_, expr) => {
  const { selectors, grouped } = readQuery(expr);
  expect(selectors).not.toEqual([]);
  expect(unknownWords(expr)).toEqual([]);
  for (const { name, matchers } of selectors) {
    expect([...exported.keys()]).toContain(name);
    for (const { label, value } of matchers) {
      expect(labelsOf(name)).toContain(label);
      const values = VALUES[`${name} ${label}`];
      if (values !== undefined && !value.startsWith('$'))
        expect(values).toEqual(expect.arrayContaining(value.split('|')));
    }
  }
  for (const label of grouped) expect(selectors.flatMap(({ name }) => labelsOf(name))).toContain(label);
});

const wordsIn = (text: string): string[] => [...text.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label!);

test.each(rules)(
  '$alert says what has happened, what to do, and how urgent it is',
  ({ expr, annotations, ...rule }) => {
    expect(Object.keys(annotations)).toEqual(['summary', 'description', 'runbook']);
    expect(annotations['summary']!.length).toBeLessThan(160);
    for (const label of wordsIn(Object.values(annotations).join(' '))) expect(readQuery(expr).grouped).toContain(label);
    expect(['critical', 'warning', 'info']).toContain(
      (rule as unknown as { labels: { severity: string } }).labels.severity,
    );
  },
);

test('each alert has a runbook, and each runbook an alert', () => {
  const page = readFileSync(new URL('../../docs/monitoring.md', FOLDER), 'utf8');
  const runbooks = [...page.matchAll(/^#+ (Drover\w+)$/gm)].map(([, title]) => title!);
  expect(rules.map(({ alert }) => alert)).toEqual(runbooks);
  for (const { alert, annotations } of rules)
    expect(annotations['runbook']).toBe(`docs/monitoring.md#${alert.toLowerCase()}`);
});

test('legends name labels of the series that they are for', () => {
  for (const { expr, legendFormat } of shown)
    for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) expect(readQuery(expr).grouped).toContain(label);
});

test('panels ask the chosen Prometheus for the chosen cluster alone', () => {
  for (const { title, expr } of shown)
    for (const { matchers } of readQuery(expr).selectors)
      expect({ title, matchers }).toMatchObject({
        matchers: expect.arrayContaining([expect.objectContaining({ label: 'cluster', value: '$cluster' })]),
      });
  for (const { type, datasource } of panels) expect(datasource?.uid).toBe(type === 'row' ? undefined : '${datasource}');
});

test('panels lie side by side within the 24 columns of the dashboard, and say what they show', () => {
  const cells = new Set<string>();
  for (const { gridPos, type, ...panel } of panels) {
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(cells).not.toContain(`${x},${y}`);
        cells.add(`${x},${y}`);
      }
    if (type !== 'row') expect(panel).toHaveProperty('description', expect.stringMatching(/\w\.$/));
  }
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
});

test('the component includes each file for a cluster, and scrapes the permitted ports', () => {
  const component = parse(read('kustomization.yaml')) as {
    resources: string[];
    configMapGenerator: { files: string[] }[];
  };
  const manifests = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml'));
  expect([...component.resources, 'kustomization.yaml', 'rules.yaml'].toSorted()).toEqual(manifests.toSorted());
  expect(component.configMapGenerator[0]!.files).toEqual(['drover.json=dashboard.json']);

  const [monitor] = readManifests('monitoring/podmonitor.yaml') as unknown as [
    { spec: { selector: { matchLabels: object }; podMetricsEndpoints: { port: string; honorLabels: boolean }[] } },
  ];
  const [policy] = readManifests('networkpolicy.yaml') as unknown as [
    { spec: { ingress: { ports: { port: number }[] }[] } },
  ];
  const [worker] = readManifests('worker.yaml') as unknown as [Workload];
  const named = worker.spec.template.spec.containers[0].ports;
  expect(named.map(({ containerPort }) => containerPort)).toEqual(
    policy.spec.ingress[0]!.ports.map(({ port }) => port),
  );
  expect(monitor.spec.podMetricsEndpoints).toEqual(named.map(({ name }) => ({ port: name, honorLabels: true })));
  const [dashboard] = readManifests('components/dashboard/dashboard.yaml') as unknown as [Workload];
  expect(dashboard.spec.template.spec.containers[0].ports).toContainEqual({ name: 'health', containerPort: 8080 });
  for (const { spec } of [worker, dashboard])
    expect(spec.template.metadata.labels).toMatchObject(monitor.spec.selector.matchLabels);
});

// A counter of the SDK is exported once it counts something, so that a scrape does not show all of them.
test("Temporal's SDK measures what alerts and the dashboard query", () => {
  const core = readFileSync(
    new URL('../../node_modules/@temporalio/core-bridge/releases/x86_64-unknown-linux-gnu/index.node', FOLDER),
    'latin1',
  );
  for (const name of Object.keys(SDK_METRICS)) {
    const own = name.replace(/^temporal_/, '').replace(/_bucket$/, '');
    expect([own, core.includes(own)]).toEqual([own, true]);
  }
});
