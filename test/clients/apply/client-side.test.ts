import { expect, test } from 'vitest';
import { withoutClientSide } from '../../../clients/apply/client-side.ts';

const of = (spec: object, managedFields: object[] = []) => ({
  metadata: {
    name: 'web',
    uid: 'u1',
    resourceVersion: '1',
    creationTimestamp: '2026-01-02T03:04:05Z',
    managedFields,
  },
  spec,
});
const by = (manager: string, spec: object): object => ({ manager, operation: 'Update', fieldsV1: { 'f:spec': spec } });

test('a field that `kubectl apply` has set is removed if the manifest no longer has it, unless others set it too', () => {
  const spec = { replicas: 2, history: 5, drain: { windows: [], method: 'Migrate' }, template: { a: 1, b: 2 } };
  const live = of(spec, [
    by('kubectl-client-side-apply', {
      'f:history': {},
      'f:drain': { '.': {}, 'f:windows': {}, 'f:method': {} },
      'f:template': { 'f:a': {}, 'f:b': {} },
    }),
    by('kubectl-edit', { 'f:drain': { 'f:method': {} } }),
    by('drover', { 'f:replicas': {} }),
  ]);
  const manifest = { metadata: { name: 'web' }, spec: { drain: {}, template: { a: 1 } } };
  const after = withoutClientSide(live, of(spec), manifest);
  expect(after).toEqual(of({ replicas: 2, drain: { method: 'Migrate' }, template: { a: 1 } }));
});

test('what others have set stays, and so does an object that is new', () => {
  const live = of({ a: 1 }, [by('kubectl-edit', { 'f:a': {} })]);
  const manifest = { metadata: { name: 'web' }, spec: {} };
  expect(withoutClientSide(live, live, manifest)).toBe(live);
  expect(withoutClientSide(undefined, live, manifest)).toBe(live);
});
