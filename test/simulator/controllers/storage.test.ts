import { describe, expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { claimOf, provision } from '../../../simulator/controllers/data-volume-controller.ts';
import type { DataVolume } from '../../../simulator/objects/kubevirt.ts';
import { fromTemplate } from '../../../simulator/vm/data-volume-templates.ts';
import { aVm, NOW } from '../simulated.ts';

describe('DataVolumes', () => {
  const template = {
    metadata: { name: 'root-1', labels: { a: 'b' } },
    spec: { source: { blank: {} }, storage: { resources: { requests: { storage: '3Gi' } } } },
  };
  const volume = {
    ...fromTemplate(template, aVm()),
    metadata: { ...aVm().metadata, name: 'root-1', uid: 'dv-uid' },
  } as Stored<DataVolume>;
  const bound = { ...claimOf(volume), status: { phase: 'Bound' } };

  test('belong to the VM', () => {
    expect(fromTemplate(template, aVm()).metadata).toMatchObject({
      name: 'root-1',
      labels: { a: 'b' },
      ownerReferences: [{ uid: 'vm-uid', controller: true }],
    });
  });

  test('get a claim of their name and size, which they own', () => {
    expect(claimOf(volume)).toMatchObject({
      metadata: { name: 'root-1', ownerReferences: [{ kind: 'DataVolume', uid: 'dv-uid', controller: true }] },
      spec: { resources: { requests: { storage: '3Gi' } }, volumeName: 'pvc-dv-uid' },
    });
  });

  test('are filled a while after their claim is bound, or fail', () => {
    const created = NOW;
    expect(provision(volume, undefined, created, NOW)).toEqual({});
    expect(provision(volume, bound, created, created + 100)).toEqual({ wait: 400 });
    expect(provision(volume, bound, created, created + 500).status).toMatchObject({
      phase: 'Succeeded',
      progress: '100.0%',
      claimName: 'root-1',
    });
    const slow = {
      ...volume,
      metadata: { ...volume.metadata, annotations: { 'sim.drover.dev/provision-time': '1m' } },
    };
    expect(provision(slow, bound, created, created)).toMatchObject({
      wait: 60_000,
      status: { phase: 'ImportInProgress' },
    });
    const failing = {
      ...volume,
      metadata: { ...volume.metadata, annotations: { 'sim.drover.dev/provision-fails': 'true' } },
    };
    expect(provision(failing, bound, created, created + 500).status).toMatchObject({ phase: 'Failed' });
    expect(provision({ ...volume, status: { phase: 'Succeeded' } }, bound, created, NOW)).toEqual({});
  });
});
