import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { contentView } from '../../../decisions/from-object/content.ts';

const at = (second: number): string => new Date(second * 1000).toISOString();

const secret = (managedFields: unknown[]): Stored => ({
  metadata: { namespace: 'ns', name: 'user', uid: 'u', resourceVersion: '7', creationTimestamp: at(10), managedFields },
});

test('content is as old as the newest write by a manager of content', () => {
  const fields = [
    { manager: 'helm', time: at(20), fieldsV1: { 'f:data': { '.': {}, 'f:user': {} }, 'f:type': {} } },
    { manager: 'editor', time: at(15), fieldsV1: { 'f:data': { 'f:net': {} } } },
    { manager: 'labeller', time: at(99), fieldsV1: { 'f:metadata': { 'f:labels': { 'f:a': {} } } } },
  ];
  expect(contentView(secret(fields))).toMatchObject({ version: 7n, writtenAt: 20_000 });
});

test('content without notes is as old as its object', () => {
  expect(contentView(secret([])).writtenAt).toBe(10_000);
  expect(contentView(secret([{ manager: 'odd' }])).writtenAt).toBe(10_000);
});
