import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createMetrics } from '../../../workers/metrics/metrics.ts';

test('docs/monitoring.md lists every drover metric with its labels', () => {
  const text = readFileSync(new URL('../../../docs/monitoring.md', import.meta.url), 'utf8');
  const told = [...text.matchAll(/^\| `(drover_[^`]+)` \|/gm)].map(([, metric]) => metric);
  const own = createMetrics('default')
    .registry.getMetricsAsArray()
    .map((metric) => metric as unknown as { name: string; labelNames: string[] })
    .filter(({ name }) => name.startsWith('drover_'))
    .map(({ name, labelNames }) => name + (labelNames.length === 0 ? '' : `{${labelNames.join(', ')}}`));
  expect(new Set(told)).toEqual(new Set(own));
});
