import { expect, test } from 'vitest';
import {
  handedOver,
  RESTARTED_AT,
  ROLLOUT_MANAGER,
  type Fields,
  type ManagedFields,
} from '../../../clients/fields/field-ownership.ts';

const rollouts = { from: ROLLOUT_MANAGER, but: RESTARTED_AT };

const entry = (
  manager: string,
  operation: 'Apply' | 'Update',
  fieldsV1: Fields,
  more: Partial<ManagedFields> = {},
): ManagedFields => ({
  manager,
  operation,
  apiVersion: 'drover.dev/v1alpha1',
  time: '2026-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1,
  ...more,
});
const annotation = (name: string): Fields => ({ 'f:annotations': { [`f:${name}`]: {} } });
const restartedAt: Fields = {
  'f:spec': { 'f:template': { 'f:spec': { 'f:template': { 'f:metadata': annotation('drover.dev/restarted-at') } } } },
};
const status = entry('drover', 'Update', { 'f:status': {} }, { subresource: 'status' });

test('the fields that a rollout has set belong to drover apply, as if the last manifest had them', () => {
  const apply = entry('drover-apply', 'Apply', {
    'f:spec': { 'f:replicas': {}, 'f:template': { 'f:spec': { 'f:runStrategy': {} } } },
  });
  const rollout = entry('drover-rollout', 'Update', {
    'f:metadata': annotation('drover.dev/requested-by'),
    'f:spec': { 'f:template': { 'f:spec': { 'f:x': {} } } },
  });
  expect(handedOver([apply, rollout, status], rollouts)).toEqual([
    status,
    entry('drover-apply', 'Apply', {
      'f:metadata': annotation('drover.dev/requested-by'),
      'f:spec': { 'f:replicas': {}, 'f:template': { 'f:spec': { 'f:runStrategy': {}, 'f:x': {} } } },
    }),
  ]);
});

test('the request to restart stays with the rollout: no manifest takes it back', () => {
  const both = { ...structuredClone(restartedAt), 'f:metadata': annotation('drover.dev/requested-by') };
  expect(handedOver([entry('drover-rollout', 'Update', both)], rollouts)).toEqual([
    entry('drover-apply', 'Apply', { 'f:metadata': annotation('drover.dev/requested-by') }),
    entry('drover-rollout', 'Update', restartedAt),
  ]);
});

test('no field is handed over if no other command has set one', () => {
  const entries = [entry('kubectl', 'Apply', { 'f:spec': {} }), entry('drover-rollout', 'Update', restartedAt)];
  expect(handedOver(entries, rollouts)).toBe(entries);
  expect(handedOver([status], rollouts)).toEqual([status]);
});
