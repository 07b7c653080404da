import { expect, test } from 'vitest';
import { isSameTemplate } from '../../../decisions/membership/same-template.ts';

const template = { metadata: { labels: { app: 'web' } }, spec: { runStrategy: 'Always', template: { spec: {} } } };

test.each<[same: boolean, other: unknown]>([
  [true, { spec: template.spec, metadata: template.metadata }],
  // As Go writes it out.
  [true, { ...template, metadata: { ...template.metadata, annotations: {}, creationTimestamp: null } }],
  [true, { ...template, spec: { ...template.spec, template: { metadata: { creationTimestamp: null }, spec: {} } } }],
  [false, { ...template, metadata: {} }],
  [false, { ...template, spec: { ...template.spec, runStrategy: 'Manual' } }],
  [false, { ...template, spec: { ...template.spec, running: false } }],
  [false, undefined],
])('the same template: %s, %j', (same, other) => {
  expect(isSameTemplate(template, other)).toBe(same);
});
