import { expect, test } from 'vitest';
import { requiredReferences } from '../../../decisions/template/references.ts';

const volumes = [
  { name: 'key', secret: { secretName: 'key-1' } },
  { name: 'same-key', secret: { secretName: 'key-1' } },
  { name: 'extra', secret: { secretName: 'extra-1', optional: true } },
  { name: 'settings', configMap: { name: 'key-1' } },
  { name: 'disk', dataVolume: { name: 'disk-1' } },
];
const accessCredentials = [{ sshPublicKey: { source: { secret: { secretName: 'ssh-1' } } } }];
const spec = { template: { spec: { volumes, accessCredentials } } };

test('a VM needs each Secret and ConfigMap that it names, once, except optional ones', () => {
  expect(requiredReferences(spec)).toEqual([
    { kind: 'Secret', name: 'key-1' },
    { kind: 'Secret', name: 'ssh-1' },
    { kind: 'ConfigMap', name: 'key-1' },
  ]);
});
