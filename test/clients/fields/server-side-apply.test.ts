import { expect, test } from 'vitest';
import { outcomeOf } from '../../../clients/fields/server-side-apply.ts';

const before = {
  metadata: { name: 'web', uid: 'u1', resourceVersion: '1', creationTimestamp: '2026-01-02T03:04:05Z' },
  spec: { replicas: 2 },
  status: { replicas: 1 },
};

test('the outcome of an apply is read from the object before and after it', () => {
  expect(outcomeOf(undefined, before)).toBe('created');
  expect(outcomeOf(before, { ...before, metadata: { ...before.metadata, uid: 'u2' } })).toBe('created');
  expect(outcomeOf(before, before)).toBe('unchanged');
  const scaled = { ...before, spec: { replicas: 3 } };
  expect(outcomeOf(before, scaled)).toBe('configured');
  const labelled = { ...before, metadata: { ...before.metadata, labels: { app: 'web' } } };
  expect(outcomeOf(before, labelled)).toBe('configured');
});

test('a status that a controller writes meanwhile is not part of an apply', () => {
  const metadata = { ...before.metadata, resourceVersion: '2' };
  expect(outcomeOf(before, { ...before, metadata, status: { replicas: 2 } })).toBe('unchanged');
});
