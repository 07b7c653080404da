import { expect, test } from 'vitest';
import { pruned, withoutEmptying } from '../../../clients/apply/pruned.ts';
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
    by(APPLY_MANAGER, { 'f:drain': { 'f:windows': {} }, 'f:update': { 'f:proactive': { 'f:disruption': {} } } }),
  ]);
  const manifest = of({ replicas: 2, drain: {}, update: { proactive: {} }, template: { a: 2 } });
  const rest = withoutEmptying(live, manifest);
  expect(rest).toEqual(of({ ...live.spec, replicas: 2, template: { a: 2 } }));
  expect(pruned(live, stored(rest.spec), manifest)).toEqual(stored(manifest.spec));
});

test('a field that another manager set in an object that a manifest empties stays', () => {
  const drain = { windows: [], method: 'Migrate', limits: { nodes: 1, vms: 2 }, others: { a: 1 } };
  const live = stored({ drain }, [
    by(APPLY_MANAGER, { 'f:drain': { 'f:windows': {}, 'f:limits': { 'f:vms': {} } } }),
    by('kubectl', { 'f:drain': { '.': {}, 'f:method': {}, 'f:limits': { '.': {}, 'f:nodes': {} }, 'f:others': {} } }),
    by('drover', { 'f:paused': {} }),
  ]);
  const after = pruned(live, stored({ drain }), of({ drain: {} }));
  expect(after).toEqual(stored({ drain: { method: 'Migrate', limits: { nodes: 1 }, others: { a: 1 } } }));
});

test('a manifest that empties nothing is applied as it is', () => {
  const live = stored({ drain: {}, template: { devices: { rng: {} } }, volumes: [{ name: 'a', emptyDisk: { x: 1 } }] });
  const manifest = of({ drain: {}, autohealing: {}, template: { devices: { rng: {}, tpm: {} } }, volumes: [] });
  expect(withoutEmptying(live, manifest)).toBe(manifest);
  expect(withoutEmptying(undefined, manifest)).toBe(manifest);
});

test('a field that `kubectl apply` has set is removed if the manifest no longer has it, unless others set it too', () => {
  const spec = { replicas: 2, history: 5, drain: { windows: [], method: 'Migrate' }, template: { a: 1, b: 2, c: 3 } };
  const live = stored(spec, [
    by('kubectl-client-side-apply', {
      'f:history': {},
      'f:drain': { '.': {}, 'f:windows': {}, 'f:method': {} },
      'f:template': { 'f:a': {}, 'f:b': {} },
    }),
    by('kubectl-edit', { 'f:drain': { 'f:method': {} } }),
    by('drover', { 'f:replicas': {} }),
  ]);
  const after = pruned(live, stored(spec), of({ drain: {}, template: { a: 1 } }));
  expect(after).toEqual(stored({ replicas: 2, drain: { method: 'Migrate' }, template: { a: 1, c: 3 } }));
});

test('what others have set stays, and so does an object that is new', () => {
  const live = stored({ a: 1 }, [by('kubectl-edit', { 'f:a': {} })]);
  expect(pruned(live, live, of({}))).toEqual(live);
  expect(pruned(undefined, live, of({}))).toEqual(live);
});
