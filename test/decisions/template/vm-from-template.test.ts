import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { vmFromTemplate } from '../../../decisions/template/vm-from-template.ts';
import { aPool } from '../fixtures/fleets.ts';

const volumes = [
  { name: 'root', dataVolume: { name: 'disk' } },
  { name: 'same-disk-as-claim', persistentVolumeClaim: { claimName: 'disk' } },
  { name: 'copy', ephemeral: { persistentVolumeClaim: { claimName: 'disk' } } },
  { name: 'shared', persistentVolumeClaim: { claimName: 'golden-image' } },
  { name: 'key', secret: { secretName: 'key' } },
  { name: 'seed', cloudInitNoCloud: { secretRef: { name: 'user' }, networkDataSecretRef: { name: 'net' } } },
  { name: 'drive', cloudInitConfigDrive: { secretRef: { name: 'user' }, networkDataSecretRef: { name: 'net' } } },
  { name: 'settings', configMap: { name: 'settings' } },
  { name: 'answers', sysprep: { secret: { name: 'answers' } } },
  { name: 'more-answers', sysprep: { configMap: { name: 'answers' } } },
];
const accessCredentials = [
  { sshPublicKey: { source: { secret: { secretName: 'keys' } }, propagationMethod: { noCloud: {} } } },
  { userPassword: { source: { secret: { secretName: 'password' } }, propagationMethod: { qemuGuestAgent: {} } } },
];
const spec = {
  runStrategy: 'Always',
  dataVolumeTemplates: [{ metadata: { name: 'disk' }, spec: { pvc: { accessModes: ['ReadWriteOnce'] } } }],
  template: {
    metadata: { labels: { tier: 'front' } },
    spec: { domain: { unheardOf: { x: 1 } }, volumes, accessCredentials },
  },
};
const vmiSpecLike = (nameGeneration: object) =>
  (vmFromTemplate(aPool(), { spec, nameGeneration }, 7).spec as typeof spec).template.spec;
const credentialsLike = (nameGeneration: object): string =>
  JSON.stringify(vmiSpecLike(nameGeneration).accessCredentials);
const namedLike = (nameGeneration: object) => vmiSpecLike(nameGeneration).volumes;

describe('numbered names', () => {
  test("give a VM disks of its own, and leave alone a name that is not a disk template's", () => {
    expect(namedLike({})).toEqual([
      { name: 'root', dataVolume: { name: 'disk-7' } },
      { name: 'same-disk-as-claim', persistentVolumeClaim: { claimName: 'disk-7' } },
      { name: 'copy', ephemeral: { persistentVolumeClaim: { claimName: 'disk-7' } } },
      ...volumes.slice(3),
    ]);
    const vm = vmFromTemplate(aPool(), { spec }, 7);
    expect((vm.spec as typeof spec).dataVolumeTemplates[0]!.metadata.name).toBe('disk-7');
  });

  test('include Secrets only if the pool asks for that', () => {
    expect(namedLike({ appendPostfixToSecretReferences: true }).slice(4)).toEqual([
      { name: 'key', secret: { secretName: 'key-7' } },
      { name: 'seed', cloudInitNoCloud: { secretRef: { name: 'user-7' }, networkDataSecretRef: { name: 'net-7' } } },
      {
        name: 'drive',
        cloudInitConfigDrive: { secretRef: { name: 'user-7' }, networkDataSecretRef: { name: 'net-7' } },
      },
      { name: 'settings', configMap: { name: 'settings' } },
      { name: 'answers', sysprep: { secret: { name: 'answers-7' } } },
      { name: 'more-answers', sysprep: { configMap: { name: 'answers' } } },
    ]);
  });

  test('include Secrets of access credentials like those of volumes', () => {
    const credentials = JSON.stringify(accessCredentials);
    expect(credentialsLike({ appendPostfixToSecretReferences: true })).toBe(
      credentials.replace('"keys"', '"keys-7"').replace('"password"', '"password-7"'),
    );
    expect(credentialsLike({ appendPostfixToConfigMapReferences: true })).toBe(credentials);
  });

  test('include ConfigMaps only if the pool asks for that', () => {
    const named = namedLike({ appendPostfixToConfigMapReferences: true });
    expect(named.slice(7)).toEqual([
      { name: 'settings', configMap: { name: 'settings-7' } },
      { name: 'answers', sysprep: { secret: { name: 'answers' } } },
      { name: 'more-answers', sysprep: { configMap: { name: 'answers-7' } } },
    ]);
    expect(named.slice(4, 7)).toEqual(volumes.slice(4, 7));
  });
});

test("the VM gets the template's own labels and annotations, and its VMI those of the VMI template", () => {
  const template = { metadata: { labels: { app: 'web' }, annotations: { note: 'x' } }, spec };
  const vm = vmFromTemplate(aPool(), template, 1);
  const ours = { 'drover.dev/pool': 'web', 'drover.dev/revision': revisionOf(template) };
  expect(vm.metadata).toMatchObject({
    name: 'web-1',
    namespace: 'shop',
    labels: { app: 'web', ...ours },
    annotations: { note: 'x' },
  });
  expect((vm.spec as typeof spec).template.metadata).toEqual({ labels: { tier: 'front', ...ours } });
});

test('the pool is the controller, by its UID', () => {
  expect(vmFromTemplate(aPool(), { spec }, 1).metadata.ownerReferences).toEqual([
    {
      apiVersion: 'drover.dev/v1alpha1',
      kind: 'VirtualMachinePool',
      name: 'web',
      uid: 'pool-uid',
      controller: true,
      blockOwnerDeletion: true,
    },
  ]);
});

test('the template itself stays as it is', () => {
  const before = structuredClone(spec);
  vmFromTemplate(aPool(), { spec, nameGeneration: { appendPostfixToSecretReferences: true } }, 3);
  expect(spec).toEqual(before);
});

describe('a revision', () => {
  test('is the same for any order of keys, and another for any other content', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), (fields) => {
        const reversed = Object.fromEntries(Object.entries(fields).toReversed());
        expect(revisionOf({ spec: { template: reversed } })).toBe(revisionOf({ spec: { template: fields } }));
        expect(revisionOf({ spec: { template: { ...fields, [`${Object.keys(fields)[0]}+`]: 1 } } })).not.toBe(
          revisionOf({ spec: { template: fields } }),
        );
      }),
    );
  });
});
