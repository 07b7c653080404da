import { expect, test } from 'vitest';
import { isNamedBy, startReferences } from '../../../decisions/configuration/start-references.ts';
import type { PoolTemplate } from '../../../decisions/template/template.ts';

const template = (vmi: object, nameGeneration: PoolTemplate['nameGeneration'] = {}): PoolTemplate => ({
  spec: { runStrategy: 'Always', template: { spec: { domain: {}, ...vmi } } },
  nameGeneration,
});
const read = (vmi: object): string[] => startReferences(template(vmi)).map(({ kind, name }) => `${kind} ${name}`);

test("a VM's references are what its VMI reads as it starts", () => {
  const volumes = [
    { name: 'seed', cloudInitNoCloud: { secretRef: { name: 'user' }, networkDataSecretRef: { name: 'net' } } },
    { name: 'answers', sysprep: { configMap: { name: 'answers' } } },
    { name: 'key', secret: { secretName: 'key' } },
    { name: 'again', secret: { secretName: 'key' } },
    { name: 'settings', configMap: { name: 'settings' } },
  ];
  const accessCredentials = [
    { sshPublicKey: { source: { secret: { secretName: 'ssh' } }, propagationMethod: { noCloud: {} } } },
  ];
  expect(read({ volumes, accessCredentials }).sort()).toEqual([
    'ConfigMap answers',
    'ConfigMap settings',
    'Secret key',
    'Secret net',
    'Secret ssh',
    'Secret user',
  ]);
});

test('a reference that KubeVirt passes on to a running VMI is not one of them', () => {
  const volumes = [
    { name: 'shared', secret: { secretName: 'shared' } },
    { name: 'disk', secret: { secretName: 'disk' } },
  ];
  const domain = { devices: { filesystems: [{ name: 'shared', virtiofs: {} }] } };
  const qemuGuestAgent = { users: ['me'] };
  const accessCredentials = [
    { sshPublicKey: { source: { secret: { secretName: 'ssh' } }, propagationMethod: { qemuGuestAgent } } },
    { userPassword: { source: { secret: { secretName: 'word' } }, propagationMethod: { qemuGuestAgent: {} } } },
  ];
  expect(read({ volumes, domain, accessCredentials })).toEqual(['Secret disk']);
});

test('a numbered reference names the objects of all numbers, and no others', () => {
  const volumes = [{ name: 'key', secret: { secretName: 'key' } }];
  const own = template({ volumes }, { appendPostfixToSecretReferences: true });
  const isNamed = (name: string): boolean => isNamedBy(own, { kind: 'Secret', name });
  expect(['key-1', 'key-42'].every(isNamed)).toBe(true);
  expect(['key', 'key-a', 'other-1', 'key-1-2'].some(isNamed)).toBe(false);
  expect(isNamedBy(template({ volumes }), { kind: 'Secret', name: 'key' })).toBe(true);
  expect(isNamedBy(own, { kind: 'ConfigMap', name: 'key-1' })).toBe(false);
});
