import { expect, test } from 'vitest';
import { emptied, withoutEmptying } from '../../../clients/apply/emptied.ts';
import { APPLY_MANAGER } from '../../../clients/fields/server-side-apply.ts';

const of = (spec: object) => ({ metadata: { name: 'web' }, spec });
const stored = (spec: object, managedFields: object[] = []) => ({
  ...of(spec),
  metadata: {
    name: 'web',
    uid: 'u1',
    resourceVersion: '1',
    creationTimestamp: '2026-01-02T03:04:05Z',
    managedFields,
  },
});
const by = (manager: string, spec: object): object => ({ manager, fieldsV1: { 'f:spec': spec } });

test('a field that a manifest empties is left as it is, and removed after the server has applied the rest', () => {
  const windows = [{ cron: '0 3 * * *', duration: '1h' }];
  const live = stored({ drain: { windows }, update: { proactive: { disruption: 'Live' } }, template: { a: 1 } }, [
    by(APPLY_MANAGER, { 'f:drain': { 'f:windows': {} } }),
  ]);
  const manifest = of({ replicas: 2, drain: {}, update: { proactive: {} }, template: { a: 2 } });
  const rest = withoutEmptying(live, manifest);
  expect(rest).toEqual(of({ ...live.spec, replicas: 2, template: { a: 2 } }));
  expect(emptied(live, stored(rest.spec), manifest)).toEqual(stored(manifest.spec));
});

test('a field that another manager set in an object that a manifest empties stays', () => {
  const drain = { windows: [], method: 'Migrate', limits: { nodes: 1, vms: 2 }, others: { a: 1 } };
  const live = stored({ drain }, [
    by(APPLY_MANAGER, { 'f:drain': { 'f:windows': {}, 'f:limits': { 'f:vms': {} } } }),
    by('kubectl', { 'f:drain': { '.': {}, 'f:method': {}, 'f:limits': { '.': {}, 'f:nodes': {} }, 'f:others': {} } }),
    by('drover', { 'f:paused': {} }),
  ]);
  const after = emptied(live, stored({ drain }), of({ drain: {} }));
  expect(after).toEqual(stored({ drain: { method: 'Migrate', limits: { nodes: 1 }, others: { a: 1 } } }));
});

test('a manifest that empties nothing is applied as it is', () => {
  const live = stored({ drain: {}, template: { devices: { rng: {} } }, volumes: [{ name: 'a', emptyDisk: { x: 1 } }] });
  const manifest = of({ drain: {}, autohealing: {}, template: { devices: { rng: {}, tpm: {} } }, volumes: [] });
  expect(withoutEmptying(live, manifest)).toBe(manifest);
  expect(withoutEmptying(undefined, manifest)).toBe(manifest);
});
