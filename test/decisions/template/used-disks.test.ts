import { expect, test } from 'vitest';
import { disksOf, newDisks } from '../../../decisions/template/used-disks.ts';

const spec = (templates: string[], volumes: object[]) => ({
  dataVolumeTemplates: templates.map((name) => ({ metadata: { name } })),
  template: { spec: { volumes } },
});
const volume = (name: string) => ({ name, dataVolume: { name } });

test('a VM uses the disks of its templates and of all volumes that are claims', () => {
  const volumes = [
    volume('root'),
    { name: 'a', persistentVolumeClaim: { claimName: 'shared' } },
    { name: 'b', ephemeral: { persistentVolumeClaim: { claimName: 'golden' } } },
    { name: 'c', memoryDump: { claimName: 'dump' } },
    { name: 'd', cloudInitNoCloud: { userData: '' } },
  ];
  expect([...disksOf(spec(['root', 'spare'], volumes))]).toEqual(['root', 'spare', 'shared', 'golden', 'dump']);
  expect(disksOf(undefined).size).toBe(0);
});

test('the new disks are those of templates that a VM did not use before', () => {
  const shared = { name: 's', persistentVolumeClaim: { claimName: 'shared' } };
  const after = spec(['root', 'data'], [volume('root'), volume('data'), shared]);
  expect(newDisks(undefined, after)).toEqual(['root', 'data']);
  expect(newDisks(spec(['root'], [volume('root')]), after)).toEqual(['data']);
  expect(newDisks(spec([], [volume('root'), volume('data')]), after)).toEqual([]);
});

test('a volume that returns to a disk of the template is asked about, though the VM has no template for it', () => {
  const [before, after] = [spec([], [volume('restored')]), spec([], [volume('root')])];
  expect(newDisks(before, after, spec(['root'], [volume('root')]))).toEqual(['root']);
  expect(newDisks(before, after)).toEqual([]);
});
