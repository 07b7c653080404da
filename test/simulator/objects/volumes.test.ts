import { expect, test } from 'vitest';
import { sourcesOf } from '../../../simulator/objects/volumes.ts';
import { vmiSpec } from '../simulated.ts';

const namesOf = (...volumes: object[]): string[] =>
  sourcesOf(vmiSpec({ volumes: volumes.map((volume, index) => ({ name: `v${index}`, ...volume })) })).map(
    ({ kind, name }) => `${kind}/${name}`,
  );

test('a VMI needs the Secrets and ConfigMaps that its volumes name', () => {
  expect(namesOf({ secret: { secretName: 'key' } }, { configMap: { name: 'motd' } })).toEqual([
    'Secret/key',
    'ConfigMap/motd',
  ]);
  expect(namesOf({ cloudInitNoCloud: { secretRef: { name: 'user' }, networkDataSecretRef: { name: 'net' } } })).toEqual(
    ['Secret/user', 'Secret/net'],
  );
  expect(
    namesOf({ cloudInitConfigDrive: { secretRef: { name: 'user' } } }, { sysprep: { configMap: { name: 'answers' } } }),
  ).toEqual(['Secret/user', 'ConfigMap/answers']);
});

test('a reference that is optional, written out, or of another kind is not waited for', () => {
  const others = [
    { cloudInitNoCloud: { userData: '#cloud-config' } },
    { dataVolume: { name: 'disk' } },
    { containerDisk: { image: 'i' } },
  ];
  expect(
    namesOf(
      { secret: { secretName: 'key', optional: true } },
      { configMap: { name: 'motd', optional: true } },
      ...others,
    ),
  ).toEqual([]);
});
