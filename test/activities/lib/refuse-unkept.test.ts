import { describe, expect, test } from 'vitest';
import { refuseUnkept } from '../../../activities/lib/refuse-unkept.ts';
import type { Stored } from '../../../api/objects.ts';

const stored = (metadata: object = {}): Stored =>
  ({
    metadata: { name: 'web-1', namespace: 'shop', uid: '1', resourceVersion: '9', ...metadata },
  }) as unknown as Stored;

describe('what the API server has stored', () => {
  test.each([
    ['what was written', { labels: { a: 'b' } }, { labels: { a: 'b', c: 'd' } }],
    ['no owner, which the server leaves out', { ownerReferences: [] }, {}],
    ['nothing where something was removed', { annotations: { a: null } }, {}],
    ['another version, of course', { resourceVersion: '8', labels: { a: 'b' } }, { labels: { a: 'b' } }],
  ])('is accepted: %s', (_, patch, metadata) => {
    expect(() => refuseUnkept(stored(metadata), { metadata: patch })).not.toThrow();
  });

  test.each([
    ['another value', { labels: { a: 'b' } }, { labels: { a: 'c' } }, 'metadata.labels.a does not become "b"'],
    ['nothing', { labels: { a: 'b' } }, {}, 'metadata.labels.a does not become "b"'],
    ['an owner that was removed', { ownerReferences: [] }, { ownerReferences: [{ uid: '2' }] }, 'ownerReferences'],
    ['what was removed', { annotations: { a: null } }, { annotations: { a: 'x' } }, 'does not become null'],
  ])('is refused: %s', (_, patch, metadata, told) => {
    expect(() => refuseUnkept(stored(metadata), { metadata: patch })).toThrow(told);
  });
});
