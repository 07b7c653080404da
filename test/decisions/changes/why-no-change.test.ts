import { expect, test } from 'vitest';
import { whyNoChange } from '../../../decisions/changes/why-no-change.ts';

const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) });

test.each([
  [[], 'a change must be an object with metadata or spec, as a VirtualMachine has them'],
  [{}, 'a change must not be empty: set a field below metadata or spec'],
  [{ spec: {} }, 'a change must not be empty: set a field below metadata or spec'],
  [{ status: {} }, "status can't be changed: only spec, and labels and annotations of metadata can"],
  [
    { metadata: { finalizers: [] } },
    "metadata.finalizers can't be changed: only labels and annotations of metadata can",
  ],
  [{ metadata: { name: 'db' } }, "metadata.name can't be changed: only labels and annotations of metadata can"],
  [
    { metadata: { ownerReferences: null } },
    "metadata.ownerReferences can't be changed: only labels and annotations of metadata can",
  ],
  [
    { metadata: { labels: { 'drover.dev/pool': null } } },
    "metadata.labels[drover.dev/pool] belongs to drover: use drover's commands to change it",
  ],
  [
    { metadata: { annotations: { 'a.drover.dev/x': 'y' } } },
    "metadata.annotations[a.drover.dev/x] belongs to drover: use drover's commands to change it",
  ],
  [
    { spec: { template: { metadata: { labels: { 'drover.dev/revision': 'x' } } } } },
    "spec.template.metadata.labels[drover.dev/revision] belongs to drover: use drover's commands to change it",
  ],
  [{ metadata: { labels: { tier: 1 } } }, 'metadata.labels[tier] must be a text, or null'],
  [{ metadata: { labels: null } }, 'metadata.labels must be an object with text values'],
  [{ metadata: null }, 'metadata must be an object with labels or annotations'],
  [{ spec: null }, 'spec must be an object'],
  [{ spec: { template: null } }, 'spec.template must be an object'],
  [
    { spec: { runStrategy: 'Halted' } },
    'spec.runStrategy starts and stops VMs: make an operation that starts or stops them',
  ],
  [{ spec: { running: false } }, 'spec.running starts and stops VMs: make an operation that starts or stops them'],
  [{ spec: { a: 'x'.repeat(70_000) } }, 'a change must be at most 32768 characters long'],
  [{ spec: nested(80) }, 'spec.a.a.a.a... is nested too deep'],
])('the change %j is refused', (patch, why) => {
  expect(whyNoChange(patch)).toBe(why);
});

test.each([
  { metadata: { labels: { tier: 'gold', old: null } } },
  { metadata: { annotations: { 'notdrover.dev/x': 'y' } } },
  { spec: { template: { spec: { evictionStrategy: 'LiveMigrate' } } } },
])('the change %j is accepted', (patch) => {
  expect(whyNoChange(patch)).toBeNull();
});
