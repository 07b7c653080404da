import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { generateChart } from '../../../deploy/chart/generate.ts';
import { eachSetting, isOfWorker } from '../../../workers/settings/settings.ts';

const read = (file: string): string => readFileSync(new URL(`../../../deploy/${file}`, import.meta.url), 'utf8');
const schema = JSON.parse(read('values.schema.json')) as { properties: Record<string, { properties: object }> };
const accepts = new Ajv({ strict: false }).compile(schema);

test.each([...generateChart()])('deploy/%s is what its source makes of it', (name, text) => {
  expect(read(name)).toBe(text);
});

test('the values are what the schema takes for defaults, and it takes them', () => {
  const values = parse(read('values.yaml')) as { workers: object };
  expect(accepts(values)).toBe(true);
  expect(values.workers).toMatchObject({ replicas: 2, terminationGracePeriodSeconds: 45 });
});

test.each([
  [{ workers: { replica: 3 } }, '/workers must NOT have additional properties'],
  [{ workers: { replicas: 'three' } }, '/workers/replicas must be integer'],
  [{ workers: { terminationGracePeriodSeconds: 30 } }, '/workers/terminationGracePeriodSeconds must be >= 45'],
  [{ settings: { DROVER_BURST: 5000 } }, '/settings/DROVER_BURST must be <= 1000'],
  [{ settings: { DROVER_CLUSTER: 'east' } }, '/settings must NOT have additional properties'],
  [{ settings: { LOG_LEVEL: 'verbose' } }, '/settings/LOG_LEVEL must be equal to one of the allowed values'],
  [{ namespaces: ['Shop'] }, '/namespaces/0 must match pattern "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"'],
  [{ temporal: { address: 'https://temporal:7233' } }, '/temporal/address must match pattern "^[^:/]+:\\d+$"'],
  [{ monitoring: { scrape: true } }, '/monitoring/scrape must be string'],
])('the value %j is refused', (values, why) => {
  expect(accepts(values)).toBe(false);
  expect(accepts.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`)).toContain(why);
});

test('values that a chart passes to this part, and to all of its parts, are accepted', () => {
  expect(accepts({ enabled: true, global: { imageRegistry: 'registry.example' } })).toBe(true);
});

test('each variable of the worker is a setting, or set by another value or the image', () => {
  const settings = Object.keys(schema.properties['settings']!.properties);
  const others = ['NAMESPACE', 'HEALTH_PORT', 'HEALTH_ADDRESS', 'TEMPORAL_METRICS_PORT', 'WORKFLOW_BUNDLE'];
  expect([...settings, ...others.map((name) => `DROVER_${name}`)].toSorted()).toEqual(
    eachSetting()
      .filter(([name]) => isOfWorker(name) || name === 'dataConverter')
      .map(([, { variable }]) => variable)
      .toSorted(),
  );
});
