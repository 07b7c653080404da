import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { DataVolumes, VirtualMachines } from '../../../api/resources.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import type { DataVolume, VirtualMachine } from '../../../simulator/objects/kubevirt.ts';
import type { Cluster } from '../../../simulator/store/cluster.ts';
import { claimDataVolumes } from '../../../simulator/vm/data-volume-templates.ts';

const at = { namespace: 'shop', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
/** The objects as the watches show them: the VM runs, and its disk has no owner. */
const vm = {
  metadata: { ...at, name: 'web-1', uid: 'of-web-1' },
  spec: { dataVolumeTemplates: [{ metadata: { name: 'disk-1' }, spec: {} }] },
} as unknown as Stored<VirtualMachine>;
const disk = {
  metadata: { ...at, name: 'disk-1', uid: 'of-disk-1' },
  status: { phase: 'Succeeded' },
} as unknown as Stored<DataVolume>;

/** Returns what is adopted if the API server's VM has this metadata; undefined: the VM doesn't exist. */
async function adoptedWith(now: Partial<Stored['metadata']> | undefined): Promise<string[]> {
  const adopted: string[] = [];
  const client = {
    get: () =>
      now === undefined
        ? Promise.reject(new KubeError(404, 'NotFound', 'no such VM'))
        : Promise.resolve({ ...vm, metadata: { ...vm.metadata, ...now } }),
    patch: (_resource: unknown, { name }: { name: string }) => Promise.resolve(void adopted.push(name)),
  };
  const dataVolumes = { resource: DataVolumes, get: () => disk, remember() {} };
  await claimDataVolumes({ client, vms: { resource: VirtualMachines }, dataVolumes } as unknown as Cluster, vm);
  return adopted;
}

test('a VM adopts its disk that has no owner', async () => {
  expect(await adoptedWith({})).toEqual(['disk-1']);
});

test.each([
  ['is going', { deletionTimestamp: '2026-01-01T00:00:01Z' }],
  ['is another by now', { uid: 'of-another' }],
  ['is gone', undefined],
])('a VM that %s adopts nothing, whatever the watches show', async (_how, now) => {
  expect(await adoptedWith(now)).toEqual([]);
});
