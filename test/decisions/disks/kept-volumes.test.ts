import { describe, expect, test } from 'vitest';
import { REVISION_LABEL } from '../../../api/labels-and-annotations.ts';
import { diskOfVm, withKeptVolumes } from '../../../decisions/disks/kept-volumes.ts';
import { field } from '../../../decisions/lib/json.ts';
import type { DiskTemplate } from '../../../decisions/template/disk-template.ts';
import type { KeptDisk } from '../../../decisions/template/kept-disk.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import { vmFromTemplate } from '../../../decisions/template/vm-from-template.ts';
import { aPool } from '../fixtures/fleets.ts';
import { aKeptDisk } from '../fixtures/kept-disks.ts';

const RESTORED = 'restore-6f1a2d0c-7d41-4d7e-9a3b-8c1f0e2d3b4a-disk-1';

test.each([
  ['root-1', 'root', { disk: 'root', volume: 'root' }],
  [RESTORED, 'disk-1', { disk: RESTORED, volume: 'disk-1' }],
  ['web-1-disk-1', 'disk-1', { disk: 'web-1-disk-1', volume: 'disk-1' }],
  ['root-1-mig-x', 'root', { disk: 'root-1-mig-x', volume: 'root' }],
])('a VM leaves %s behind, which its volume %s had', (claim, name, known) => {
  const spec = { template: { spec: { volumes: [{ name, dataVolume: { name: claim } }] } } };
  expect(diskOfVm(claim, { name: 'web-1', number: 1, spec })).toEqual(known);
});

test('a disk that no volume uses is known by its name alone', () => {
  expect(diskOfVm('persistent-state-for-web-1-x', { name: 'web-1', number: 1, spec: {} }).volume).toBeNull();
});

const template = (name: string, url = 'http://a'): DiskTemplate => ({
  metadata: { name },
  spec: { source: { http: { url } }, storage: { resources: { requests: { storage: '1Gi' } } } },
});

describe('the next VM of the number', () => {
  const pool = aPool({
    template: {
      spec: {
        runStrategy: 'Always',
        dataVolumeTemplates: [template('root')],
        template: { spec: { domain: { devices: {} }, volumes: [{ name: 'os', dataVolume: { name: 'root' } }] } },
      },
    } as unknown as ReturnType<typeof aPool>['spec']['template'],
  });
  const made = vmFromTemplate(pool, poolTemplate(pool.spec), 1);
  const kept = (disk: string, more: Partial<KeptDisk> = {}): [string, KeptDisk] => [
    disk,
    aKeptDisk({ poolUid: pool.metadata.uid, disk, volume: 'os', template: template(disk), ...more }),
  ];
  const disksOf = (vm: typeof made): unknown => [
    field(vm.spec, 'template', 'spec', 'volumes'),
    (vm.spec['dataVolumeTemplates'] as DiskTemplate[]).map(({ metadata }) => field(metadata, 'name')),
  ];
  const revisionOf = (vm: typeof made): unknown => vm.metadata.labels[REVISION_LABEL];

  test('has the disk of another name in place of the one that its template gives to that volume', () => {
    const vm = withKeptVolumes(made, new Map([kept(RESTORED)]));
    expect(disksOf(vm)).toEqual([[{ name: 'os', dataVolume: { name: RESTORED } }], [RESTORED]]);
    expect(revisionOf(vm)).toBe(revisionOf(made));
  });

  test('refers to its claim if no disk template made it', () => {
    const vm = withKeptVolumes(made, new Map([kept('mine', { template: null })]));
    expect(disksOf(vm)).toEqual([[{ name: 'os', persistentVolumeClaim: { claimName: 'mine' } }], []]);
  });

  test('has no revision if the disk differs from its template', () => {
    const vm = withKeptVolumes(made, new Map([kept(RESTORED, { template: template(RESTORED, 'http://b') })]));
    expect([disksOf(vm), revisionOf(vm)]).toEqual([
      [[{ name: 'os', dataVolume: { name: RESTORED } }], [RESTORED]],
      undefined,
    ]);
  });

  test('has the disk that was kept last, whatever its name', () => {
    const later = { keptAt: '2026-02-01T00:00:00Z' };
    const own = kept('root-1', { disk: 'root' });
    expect(withKeptVolumes(made, new Map([kept('mine'), own, kept(RESTORED, later)])).spec).toEqual(
      withKeptVolumes(made, new Map([kept(RESTORED)])).spec,
    );
    expect(withKeptVolumes(made, new Map([kept(RESTORED), kept('root-1', { disk: 'root', ...later })]))).toBe(made);
  });

  test('is as its template makes it if the kept disk belonged to a volume that it does not have', () => {
    expect(withKeptVolumes(made, new Map([kept('mine', { volume: 'data' }), kept('yours', { volume: null })]))).toBe(
      made,
    );
  });
});
