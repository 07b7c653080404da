import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { DataVolumes, Events, PersistentVolumeClaims } from '../../../api/resources.ts';
import type { DataVolume } from '../../../simulator/objects/kubevirt.ts';
import { testOneOf } from '../../soak.ts';
import { aFleet, until } from '../fleet.ts';
import { templateOf } from '../rollout/rollouts.ts';
import { HealedPool, QUICK, withFastStarts } from './healings.ts';

const fleet = aFleet();
withFastStarts(fleet);

/** Writes an Event about a VMI, far in the future so that it stays the newest: only the last few Events are kept. */
async function noteBadDisk(namespace: string, name: string): Promise<void> {
  await fleet().kube.create(Events, {
    metadata: { name: `${name}.1`, namespace },
    eventTime: new Date(Date.now() + 3_600_000).toISOString().replace('Z', '000Z'),
    reportingController: 'virt-handler',
    reportingInstance: 'node-1',
    type: 'Warning',
    reason: 'BadDisk',
    action: 'Start',
    note: 'the disk is unreadable',
    regarding: { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', name, namespace },
  });
}

test('a VM whose disk is corrupt is replaced under its number, with a new disk and a new claim, and runs well', async () => {
  const pool = await HealedPool.ready(fleet(), { replicas: 3 });
  const lives = await pool.lives();
  await noteBadDisk(pool.pool.namespace, 'web-2');
  await pool.corrupt(2);
  await pool.replaced(2, lives.of('vm', 'web-2')[0]!.uid);
  await pool.untilFinished(2, { attempts: 1, end: 'Healed' });
  lives.expectFresh(2, 2);
  for (const number of [1, 3]) lives.expectFresh(number, 1);
  expect(await pool.attempt(2).result()).toMatchObject({ end: 'Removed' });
  // The page of the closed workflow: the fault, the outcome, and the last Events of the VM.
  const metadata = pool.attempt(2).query<{ currentDetails: string }>('__temporal_workflow_metadata');
  const { currentDetails } = await metadata;
  expect(currentDetails).toMatch(/^\*\*web-2\*\* is unhealthy: \d starts in a row have failed: \w/);
  expect(currentDetails).toContain('\n\nReplacement 1: has ended: Removed');
  expect(currentDetails).toContain('BadDisk: the disk is unreadable');
  const reasons = (await pool.pool.events()).map(({ reason }) => reason);
  expect(reasons).toEqual(expect.arrayContaining(['Healing', 'Healed']));
});

testOneOf({
  'a VM is not recreated before its claim is really gone': async () => {
    const pool = await HealedPool.ready(fleet(), { replicas: 2 });
    const lives = await pool.lives();
    const claim = { namespace: pool.pool.namespace, name: 'disk-1' };
    const hold = (finalizers: string[]): Promise<unknown> =>
      fleet().kube.patch(PersistentVolumeClaims, claim, 'merge', { metadata: { finalizers } });
    await hold(['test/hold']);
    await pool.break(1);
    await until(async () =>
      expect((await fleet().kube.get(PersistentVolumeClaims, claim)).metadata.deletionTimestamp).toBeDefined(),
    );
    await sleep(1_500);
    expect(lives.of('vm', 'web-1').length).toBe(1);
    expect((await pool.healing()).cycles).toMatchObject([{ vm: 'web-1', phase: 'Removing' }]);
    await hold([]);
    await pool.untilFinished(1, { attempts: 1, end: 'Healed' });
    lives.expectFresh(1, 2);
  },
  'a VM that has run keeps its disk by default, and so does the VM that is made on it': async () => {
    const { preserveStorage: _, ...rules } = QUICK;
    const pool = await HealedPool.ready(fleet(), { replicas: 1, autohealing: rules });
    const lives = await pool.lives();
    await pool.break(1);
    await pool.replaced(1, lives.of('vm', 'web-1')[0]!.uid);
    await pool.untilFinished(1, { attempts: 1, end: 'Healed' });
    // It never works on a corrupt disk: drover must not delete the disk, and another VM would fare no better.
    await pool.corrupt(1);
    const why = expect.stringContaining('3 replacements on the same disks') as string;
    await pool.untilFinished(1, { end: 'GivenUp', message: why });
    expect([lives.of('disk', 'disk-1').length, lives.of('claim', 'disk-1').length]).toEqual([1, 1]);
    const disk = await fleet().kube.get<DataVolume>(DataVolumes, { namespace: pool.pool.namespace, name: 'disk-1' });
    await fleet().kube.patch(DataVolumes, disk.metadata, 'merge', {
      metadata: { annotations: { 'sim.drover.dev/corrupt': null } },
    });
    await until(async () =>
      expect(await pool.pool.status()).toMatchObject({ readyReplicas: 1, healing: { cycles: [] } }),
    );
  },
});

test('a VM on a lost node is left alone, or deleted and recreated when its VMI is gone, if the pool says so', async () => {
  // KubeVirt's times have no fractions, so a limit of 1 s may already have passed when the worker hears of the VMI
  // but not yet of its node.
  const impatient = { ...QUICK, maxUnhealthy: '100%', unhealthyAfter: { notReady: '2s' } };
  const pool = await HealedPool.ready(fleet(), { replicas: 3, autohealing: impatient });
  const lives = await pool.lives();
  const node = (await pool.pool.vmi('web-1')).status!.nodeName!;
  await pool.setNodeLost(node, true);
  await until(async () => expect((await pool.pool.vm('web-1')).status?.ready ?? false).toBe(false));
  await sleep(4_000);
  expect((await pool.pool.vm('web-1')).metadata.deletionTimestamp).toBeUndefined();
  expect((await pool.healing()).cycles).toEqual([]);

  // On a busy machine the new VM may take longer than a second.
  await pool.pool.patch({ autohealing: { ...impatient, unhealthyAfter: { notReady: '10m', unknownNode: '2s' } } });
  await pool.untilCycle(1, { phase: 'Removing' });
  await until(async () => expect((await pool.pool.vm('web-1')).metadata.deletionTimestamp).toBeDefined());
  await sleep(1_000);
  expect(lives.of('vm', 'web-1').length).toBe(1);
  expect((await pool.pool.vmi('web-1')).status?.phase).toBe('Running');
  await pool.setNodeLost(node, false);
  await pool.replaced(1, lives.of('vm', 'web-1')[0]!.uid);
  await pool.untilFinished(1, { end: 'Healed' });
  lives.expectFresh(1, 2);
});

const told = (annotation: string): object => ({
  spec: { template: { metadata: { annotations: { [annotation]: 'true' } } } },
});

test('a VM that waits for a node, for a claim, or for its image, is never replaced', async () => {
  // KubeVirt's times have no fractions, so a limit of 1 s may already have passed when the worker hears of the VMI.
  const autohealing = {
    ...QUICK,
    startupFailureThreshold: 1,
    minFailingToStartDuration: '1s',
    unhealthyAfter: { notReady: '2s' },
  };
  const pool = await HealedPool.ready(fleet(), { replicas: 3, template: templateOf(), autohealing });
  const before = [await pool.uid(1), await pool.uid(2), await pool.uid(3)];
  await pool.pool.patchVm('web-1', told('sim.drover.dev/unschedulable'));
  await pool.pool.patchVm('web-3', told('sim.drover.dev/image-pull-fails'));
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'later' } }];
  await pool.pool.patchVm('web-2', { spec: { template: { spec: { volumes } } } });
  for (const number of [1, 2, 3]) await pool.endVmi(number);
  const states = async (): Promise<(string | undefined)[]> =>
    [...(await pool.pool.vms()).values()].map(({ status }) => status?.printableStatus);
  await until(async () =>
    expect(await states()).toEqual(['ErrorUnschedulable', 'ErrorPvcNotFound', 'ImagePullBackOff']),
  );
  await sleep(4_000);
  expect([await pool.uid(1), await pool.uid(2), await pool.uid(3)]).toEqual(before);
  const healing = await pool.healing();
  expect([healing.cycles, healing.finished]).toEqual([[], []]);
  expect(await pool.pool.condition('Healing')).toMatchObject({
    reason: 'NothingToHeal',
    message: expect.stringMatching(
      /^web-1 .*ErrorUnschedulable.*; web-2 .*ErrorPvcNotFound.*; web-3 .*ImagePullBackOff/,
    ) as string,
  });
  // The wait did not count: the time to become ready begins once the VMI has a node.
  const claim = {
    metadata: { namespace: pool.pool.namespace, name: 'later' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };
  await fleet().kube.create(PersistentVolumeClaims, claim);
  await until(async () => expect((await pool.pool.vm('web-2')).status?.ready).toBe(true));
  expect(await pool.uid(2)).toBe(before[1]);
});
