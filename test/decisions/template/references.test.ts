import { expect, test } from 'vitest';
import { ownReferences, requiredReferences } from '../../../decisions/template/references.ts';

const volumes = [
  { name: 'key', secret: { secretName: 'key-1' } },
  { name: 'same-key', secret: { secretName: 'key-1' } },
  { name: 'extra', secret: { secretName: 'extra-1', optional: true } },
  { name: 'settings', configMap: { name: 'key-1' } },
  { name: 'disk', dataVolume: { name: 'disk-1' } },
];
const accessCredentials = [{ sshPublicKey: { source: { secret: { secretName: 'ssh-1' } } } }];
const spec = { template: { spec: { volumes, accessCredentials } } };

test('what a VM has for itself is each Secret and ConfigMap whose name gets its number, once, but for what is optional', () => {
  const secrets = [
    { kind: 'Secret', name: 'key-1' },
    { kind: 'Secret', name: 'ssh-1' },
  ];
  const configMaps = [{ kind: 'ConfigMap', name: 'key-1' }];
  expect(ownReferences(spec, { appendPostfixToSecretReferences: true })).toEqual(secrets);
  expect(ownReferences(spec, { appendPostfixToConfigMapReferences: true })).toEqual(configMaps);
  expect(
    ownReferences(spec, { appendPostfixToSecretReferences: true, appendPostfixToConfigMapReferences: true }),
  ).toEqual([...secrets, ...configMaps]);
  expect(ownReferences(spec)).toEqual([]);
  expect(requiredReferences(spec)).toEqual([...secrets, ...configMaps]);
});
