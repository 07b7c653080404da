import { expect, test } from 'vitest';
import { ROLE_LABEL } from '../../../api/labels-and-annotations.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import { crashTest } from '../../soak.ts';
import { aFleet, namesUpTo, until } from '../fleet.ts';
import { setQuota } from '../quota.ts';
import { orderOfRestarts, templateOf, TestPool } from './rollouts.ts';

const fleet = aFleet();
const SURGE = { replicas: 4, maxUnavailable: 0, maxSurge: 1 } as const;

/** VMs that take a moment to come up, so that who goes down too early is seen. */
const slow = (cores: number) => templateOf({ cores, annotations: { 'sim.drover.dev/boot-time': '700ms' } });

const untilExtraIsThere = (pool: TestPool): Promise<void> =>
  until(async () => {
    const vms = [...(await pool.vms()).values()];
    expect(vms.map(({ metadata }) => metadata.labels?.[ROLE_LABEL])).toContain('Surge');
  });

crashTest('surge')('no VM goes down before an extra one has come up, also when the worker is killed', async () => {
  const worker = await fleet().worker();
  const pool = await TestPool.ready(fleet(), { ...SURGE, template: slow(1) });
  const watch = await pool.watched();
  const revision = await pool.change(slow(2));
  await untilExtraIsThere(pool);
  await worker.kill();
  const next = await fleet().startWorker();
  const restarted = (): string[] => orderOfRestarts(watch).filter((name) => name !== 'web-5');
  await until(async () => expect(restarted()).not.toEqual([]));
  await pool.until({ surgeReplicas: 1 });
  await next.kill();
  await fleet().startWorker();
  await pool.untilComplete(revision);
  await until(async () => expect(await fleet().vmNames(pool.namespace, 'web')).toEqual(namesUpTo('web', 4)));
  await pool.until({ replicas: 4 });
  expect(await pool.status()).not.toHaveProperty('surgeReplicas');
  await watch.caughtUp();
  expect(watch.gaps).toEqual([]);
  expect(watch.log.extremes()).toEqual({ fewestReady: 4, mostVms: 5 });
  expect(restarted()).toHaveLength(4);
});

test('a quota that refuses the extra VM is reported, and the rollout waits until VMs may go down', async () => {
  await fleet().worker();
  const pool = await TestPool.ready(fleet(), { ...SURGE, rollout: { progressDeadlineSeconds: 3 } });
  await setQuota(fleet(), pool.namespace, VirtualMachines, { hard: 4, used: 4 });
  const watch = await pool.watched();
  const revision = await pool.change(templateOf({ cores: 2 }));
  await pool.untilSaid({ ReplicaFailure: 'FailedSurge', Progressing: 'ProgressDeadlineExceeded' });
  expect((await pool.condition('Progressing'))?.message).toContain('no extra VM can be made: ');
  expect(await fleet().vmNames(pool.namespace, 'web')).toEqual(namesUpTo('web', 4));
  // Without extra VMs, as many may go down as the pool allows.
  await pool.patch({ maxUnavailable: 1, maxSurge: 0 });
  await pool.untilComplete(revision);
  await watch.caughtUp();
  expect(watch.log.extremes()).toEqual({ fewestReady: 3, mostVms: 4 });
});
