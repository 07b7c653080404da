import { expect } from 'vitest';
import type { KubeList, Stored } from '../../../api/objects.ts';
import { PersistentVolumeClaims } from '../../../api/resources.ts';
import { crashTest, soak } from '../../soak.ts';
import { aFleet, namesUpTo, until, type TestWorker } from '../fleet.ts';
import { withDisk } from '../healing/healings.ts';

const fleet = aFleet();
const VMS = soak(500, 12);
/** In milliseconds; the simulator boots 500 VMs on the cores that everything else needs, too. */
const PATIENCE = soak(1_200_000, 120_000);
const scaleInStrategy = { proactive: { statePreservation: 'Offline' as const } };

/** UIDs of the claims in a namespace, by name. */
async function claims(namespace: string): Promise<Map<string, string>> {
  const { items }: KubeList<Stored> = await fleet().kube.list(PersistentVolumeClaims, { namespace });
  return new Map(items.map(({ metadata: { name, uid } }) => [name, uid]));
}

crashTest('kept disks')(
  'each VM is on the disk of its number after a pool is scaled to none and back while its workers are killed',
  { timeout: 3 * PATIENCE },
  async () => {
    const namespace = await fleet().namespace();
    let worker: TestWorker = await fleet().worker();
    const count = async (): Promise<number> => (await fleet().vms(namespace)).length;
    const ready = (): Promise<void> =>
      until(
        async () => expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({ readyReplicas: VMS }),
        PATIENCE,
      );
    const keeps = (disks: number): Promise<void> =>
      until(async () => expect((await fleet().pool(namespace, 'web'))?.status?.keptDisks ?? 0).toBe(disks), PATIENCE);
    /** Scales the pool, and kills the worker when some VMs have come or gone and others have not. */
    const scale = async (replicas: number): Promise<void> => {
      await fleet().patchPool(namespace, 'web', { replicas });
      for (const share of soak([0.2, 0.5, 0.8], [0.3])) {
        const moved = async (): Promise<number> => Math.abs((await count()) - (VMS - replicas));
        await until(async () => expect(await moved()).toBeGreaterThan(VMS * share), PATIENCE);
        await worker.kill();
        worker = await fleet().startWorker();
      }
    };
    await fleet().createPool(namespace, 'web', { replicas: VMS, template: withDisk(), scaleInStrategy });
    await ready();
    const before = await claims(namespace);
    expect([...before.keys()].toSorted()).toEqual(namesUpTo('disk', VMS).toSorted());

    await scale(0);
    await until(async () => expect(await count()).toBe(0), PATIENCE);
    expect(await claims(namespace)).toEqual(before);
    await keeps(VMS);

    await scale(VMS);
    await ready();
    expect(await fleet().vmNames(namespace, 'web')).toEqual(namesUpTo('web', VMS));
    expect(await claims(namespace)).toEqual(before);
    await keeps(0);
  },
);
