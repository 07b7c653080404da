import { describe, expect, test } from 'vitest';
import {
  POOL_LABEL,
  PROTECT_ANNOTATION,
  REVISION_LABEL,
  CORRECT_DRIFT_ANNOTATION,
} from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { vmView, type VirtualMachine } from '../../../decisions/from-object/vm.ts';
import { joining, joiningTransfer, joiningVmi } from '../../../decisions/membership/joining.ts';
import { asFormer, asMember } from '../../../decisions/membership/label-patch.ts';
import { transferPatch } from '../../../decisions/membership/transfer.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import { formerMemberAnnotation, formerMemberOf } from '../../../decisions/views/annotations/former-member.ts';
import { aPool } from '../fixtures/fleets.ts';

const template: PoolSpec['template'] = {
  metadata: { labels: { app: 'web' } },
  spec: {
    runStrategy: 'Always',
    dataVolumeTemplates: [
      { metadata: { name: 'disk' }, spec: { pvc: { resources: { requests: { storage: '1Gi' } } } } },
    ],
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        domain: { cpu: { cores: 1 }, devices: { disks: [{ name: 'root', disk: { bus: 'virtio' } }] } },
        volumes: [{ name: 'root', dataVolume: { name: 'disk' } }],
      },
    },
  },
};
const pool = aPool({ template });
const revision = revisionOf(poolTemplate(pool.spec));
const theirs = {
  apiVersion: 'pool.kubevirt.io/v1beta1',
  kind: 'VirtualMachinePool',
  name: 'web',
  uid: 'their-uid',
  controller: true,
};

/** The VM as KubeVirt's pool has made it and its webhooks have completed it, and a label of a user's. */
function vmOf(name: string, number: string, change: (spec: Domain) => void = () => {}): Stored<VirtualMachine> {
  const domain: Domain = {
    cpu: { cores: 1 },
    machine: { type: 'q35' },
    firmware: { uuid: 'one' },
    devices: { disks: [{ name: 'root', disk: { bus: 'virtio' }, bootOrder: 1 }], interfaces: [{ name: 'default' }] },
  };
  change(domain);
  return {
    metadata: {
      namespace: 'shop',
      name,
      uid: `uid-of-${name}`,
      resourceVersion: '7',
      creationTimestamp: '2026-01-02T03:04:05Z',
      labels: { app: 'web', mine: 'yes' },
      finalizers: ['pool.kubevirt.io/finalizer', 'other'],
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }, theirs],
    },
    spec: {
      runStrategy: 'Halted',
      dataVolumeTemplates: [
        { metadata: { name: `disk-${number}` }, spec: { pvc: { resources: { requests: { storage: '1Gi' } } } } },
      ],
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { domain, volumes: [{ name: 'root', dataVolume: { name: `disk-${number}` } }] },
      },
    },
  } as unknown as Stored<VirtualMachine>;
}
type Domain = { cpu: { cores: number }; [field: string]: unknown };

const vmiOf = (vm: Stored<VirtualMachine>, cores = 1): Stored => {
  const { domain, volumes } = vm.spec!.template!.spec as unknown as { domain: Domain; volumes: object[] };
  return {
    metadata: { ...vm.metadata, uid: 'vmi-uid' },
    spec: { domain: { ...domain, cpu: { cores } }, volumes, networks: [] },
  };
};

describe('a VM that comes into a pool', () => {
  test('is of its revision if only additions, its power and its disk differ from the template', () => {
    for (const [name, number] of [
      ['web-0', '0'],
      ['web-3', '3'],
    ] as const) {
      const vm = vmOf(name, number);
      expect(joining(pool, vm, vmiOf(vm))).toMatchObject({
        isNamed: true,
        revision,
        vmiRevision: revision,
        fate: 'unchanged',
        fit: { differs: [], vmiDiffers: [] },
      });
    }
  });

  test('differs by what the template sets otherwise, with the path', () => {
    const vm = vmOf('web-1', '1', ({ cpu }) => (cpu.cores = 2));
    const found = joining(pool, vm, vmiOf(vm));
    expect(found).toMatchObject({ revision: null, vmiRevision: null });
    expect(found.fit.differs).toEqual(['spec.template.spec.domain.cpu.cores']);
  });

  test('is of its revision, and its VMI is not, if the VMI has not restarted since', () => {
    const vm = vmOf('web-1', '1');
    const found = joining(pool, vm, vmiOf(vm, 4));
    expect(found).toMatchObject({ revision, vmiRevision: null, fate: 'restarted' });
    expect(found.fit.vmiDiffers).toEqual(['spec.template.spec.domain.cpu.cores']);
    expect(joiningVmi(pool, found).labels).toEqual({ [POOL_LABEL]: 'web', [REVISION_LABEL]: null });
  });

  test('keeps a disk of another name, and gets the labels that the template has', () => {
    const vm = vmOf('old-web', 'of-its-own');
    delete vm.metadata.labels!['app'];
    const found = joining(pool, vm, undefined);
    expect(found).toMatchObject({
      isNamed: false,
      revision,
      fit: { differs: [], metadata: { labels: { app: 'web' } } },
    });
    expect(joiningTransfer(pool, found, null, 0).labels).toMatchObject({ app: 'web', [REVISION_LABEL]: revision });
  });

  test('has the revision that it had before it left, whatever a user has changed', () => {
    const vm = vmOf('web-1', '1', ({ cpu }) => (cpu.cores = 2));
    vm.metadata.annotations = formerMemberAnnotation({ pool: 'web', revision: 'older' });
    // Another controller may have made anything of it.
    expect(joining(pool, vm, vmiOf(vm))).toMatchObject({ revision: null, vmiRevision: null });
    vm.metadata.ownerReferences = [];
    expect(joining(pool, vm, vmiOf(vm))).toMatchObject({ revision: 'older', vmiRevision: 'older', fate: 'updated' });
    vm.metadata.annotations = formerMemberAnnotation({ pool: 'db', revision: 'older' });
    expect(joining(pool, vm, vmiOf(vm))).toMatchObject({ revision: null });
  });
});

test('a VM changes owners in one write, which applies only to the version that was seen and the expected controller', () => {
  const vm = vmOf('web-0', '0');
  const transfer = joiningTransfer(pool, joining(pool, vm, undefined), 'their-uid', 0);
  expect(transferPatch(vm, transfer)).toMatchObject({
    metadata: {
      uid: 'uid-of-web-0',
      resourceVersion: '7',
      finalizers: ['other'],
      ownerReferences: [
        { kind: 'ConfigMap' },
        { apiVersion: 'drover.dev/v1alpha1', uid: 'pool-uid', controller: true },
      ],
    },
    spec: { template: { metadata: { labels: { [POOL_LABEL]: 'web', [REVISION_LABEL]: revision } } } },
  });
  expect(transferPatch(vm, { ...transfer, from: 'another' })).toBeNull();
  expect(transferPatch(vm, { ...transfer, from: null })).toBeNull();
});

test('the history of a VM in its pool is kept while it is away, and comes back with it', () => {
  const vm = vmOf('web-1', '1');
  vm.metadata.labels = { mine: 'yes', [POOL_LABEL]: 'web', [REVISION_LABEL]: 'r1' };
  const left = asFormer('web', vm.metadata);
  // What users have asked drover to do with it there is over, too.
  expect(left.annotations).toMatchObject({ [PROTECT_ANNOTATION]: null, [CORRECT_DRIFT_ANNOTATION]: null });
  expect(left.labels).toEqual({ [POOL_LABEL]: null, [REVISION_LABEL]: null });
  const annotations = Object.fromEntries(
    Object.entries(left.annotations).filter(([, value]) => value !== null),
  ) as Record<string, string>;
  expect(formerMemberOf(annotations)).toEqual({ pool: 'web', revision: 'r1' });
  const away = { ...vm, metadata: { ...vm.metadata, labels: { mine: 'yes' }, annotations } };
  expect(vmView(away).revision).toBe('r1');
  expect(asFormer('web', away.metadata).annotations).toMatchObject(annotations);
  expect(asMember('web', away.metadata, null).labels).toEqual({ [POOL_LABEL]: 'web', [REVISION_LABEL]: 'r1' });
  expect(formerMemberOf({ 'drover.dev/detached': 'nonsense' })).toBeNull();
  expect(asMember('web', {}, null).labels).toEqual({ [POOL_LABEL]: 'web' });
});
