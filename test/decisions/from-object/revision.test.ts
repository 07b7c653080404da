import { expect, test } from 'vitest';
import { REVISION_LABEL } from '../../../api/labels-and-annotations.ts';
import { revisionView, type ControllerRevision } from '../../../decisions/from-object/revision.ts';
import { revisionName, revisionOf } from '../../../decisions/template/revision.ts';
import type { PoolTemplate } from '../../../decisions/template/template.ts';

const template = (cores: number): PoolTemplate => ({
  metadata: {},
  spec: { template: { spec: { domain: { cpu: { cores } } } } },
});
const revision = revisionOf(template(1));
const owner = {
  apiVersion: 'drover.dev/v1alpha1',
  kind: 'VirtualMachinePool',
  name: 'web',
  uid: 'u',
  controller: true,
};
const kept = (metadata: object = {}, fields: Partial<ControllerRevision> = {}, reference: Partial<typeof owner> = {}) =>
  revisionView({
    metadata: {
      namespace: 'shop',
      name: revisionName('web', revision),
      uid: 'r',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { [REVISION_LABEL]: revision },
      ownerReferences: [{ ...owner, ...reference }],
      ...metadata,
    },
    revision: 3,
    data: { template: template(1) },
    ...(fields as object),
  });

test('a ControllerRevision keeps a template of the pool that controls it', () => {
  expect(kept()).toMatchObject({ namespace: 'shop', poolUid: 'u', revision, number: 3, template: template(1) });
});

test('a ControllerRevision whose content does not match its name and its label is not a revision', () => {
  const other = revisionOf(template(2));
  expect(kept({}, { data: { template: template(2) } })).toBeNull();
  expect(kept({ labels: { [REVISION_LABEL]: other } })).toBeNull();
  expect(kept({ labels: { [REVISION_LABEL]: other } }, { data: { template: template(2) } })).toBeNull();
  expect(kept({ name: revisionName('db', revision) })).toBeNull();
  expect(kept({ labels: {} })).toBeNull();
  expect(kept({}, { data: {} })).toBeNull();
});

test('only a pool in the served version has revisions', () => {
  expect(kept({ ownerReferences: [] })).toBeNull();
  for (const wrong of [{ apiVersion: 'drover.dev/v0' }, { kind: 'VirtualMachineReplicaSet' }, { controller: false }])
    expect(kept({}, {}, wrong)).toBeNull();
});
