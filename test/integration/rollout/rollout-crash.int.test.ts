import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { seeded, seedOf } from '../../seeded.ts';
import { soak, testOneOf } from '../../soak.ts';
import { chaosProxy, type Fate } from '../chaos-proxy.ts';
import { aFleet, namesUpTo, until } from '../fleet.ts';
import { ReadinessWatch } from '../readiness-watch.ts';

const fleet = aFleet({ workers: 0, ownStack: true });
const VMS = soak(60, 15);
const NAMES = namesUpTo('web', VMS);
const KILLS = soak(20, 2);
/** Longer than the heartbeat timeouts of activities. */
const AWAY_MS = soak(30_000, 15_000);
/** Within this time even a disturbed rollout ends. */
const ENDS_WITHIN_MS = 300_000;

const templateOf = (cores: number): PoolSpec['template'] => ({
  spec: {
    runStrategy: 'Always',
    template: {
      metadata: { annotations: { 'sim.drover.dev/boot-time': '500ms', 'sim.drover.dev/stop-time': '100ms' } },
      spec: { domain: { devices: {}, cpu: { cores }, memory: { guest: '64Mi' } } },
    },
  },
});
const NEXT = templateOf(2);
const REVISION = revisionOf(NEXT);

/** Creates a pool of running VMs, and watches it. */
async function running(maxUnavailable: number): Promise<{ namespace: string; watch: ReadinessWatch }> {
  const namespace = await fleet().namespace();
  const watch = await ReadinessWatch.start(fleet().kube, namespace);
  onTestFinished(() => watch.stop());
  await fleet().createPool(namespace, 'web', { replicas: VMS, maxUnavailable, template: templateOf(1) });
  await until(
    async () => expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({ readyReplicas: VMS }),
    ENDS_WITHIN_MS,
  );
  await watch.startRecording();
  return { namespace, watch };
}

const restartsIn = (watch: ReadinessWatch): number =>
  NAMES.reduce((sum, name) => sum + watch.log.restartsOf(name).length, 0);
const inProgress = (watch: ReadinessWatch, restarts: number): Promise<void> =>
  until(async () => expect(restartsIn(watch)).toBeGreaterThanOrEqual(restarts), ENDS_WITHIN_MS);

/** Waits until the rollout ends by itself. Each VM was restarted once, and `maxUnavailable` always held. */
async function expectDone(namespace: string, watch: ReadinessWatch, maxUnavailable: number): Promise<void> {
  await until(async () => {
    const { status } = (await fleet().pool(namespace, 'web'))!;
    expect(status).toMatchObject({
      updatedReplicas: VMS,
      readyReplicas: VMS,
      currentRevision: REVISION,
      updateRevision: REVISION,
    });
  }, ENDS_WITHIN_MS);
  await watch.caughtUp();
  for (const name of NAMES) {
    const restarts = watch.log.restartsOf(name).map(({ startedWith }) => startedWith);
    expect({ name, restarts, history: restarts.length === 1 ? [] : watch.log.history(name) }).toEqual({
      name,
      restarts: [REVISION],
      history: [],
    });
  }
  const peak = watch.log.peak({ replicas: VMS });
  expect(peak.unavailable > maxUnavailable ? peak : null).toBeNull();
}

testOneOf(
  {
    'a rollout ends well though the worker is killed at random instants': async () => {
      const random = seeded(seedOf());
      let worker = await fleet().startWorker();
      const { namespace, watch } = await running(3);
      const began = Date.now();
      await fleet().patchPool(namespace, 'web', { template: NEXT });
      // Each kill comes a random moment after a number of restarts, so in the middle of any step. Up to two rounds of
      // three VMs may come back before the kill, and three more VMs after it, so some are still left.
      const instants = Array.from({ length: KILLS }, () => ({
        restarts: Math.floor(random() * (VMS - 9)),
        later: random() * 700,
      }));
      for (const { restarts, later } of instants.sort((a, b) => a.restarts - b.restarts)) {
        await inProgress(watch, restarts);
        await sleep(later);
        expect(restartsIn(watch)).toBeLessThan(VMS);
        await worker.kill();
        worker = await fleet().startWorker();
      }
      await expectDone(namespace, watch, 3);
      console.log(`the rollout took ${Math.round((Date.now() - began) / 1000)} s`);
      expect(watch.gaps).toEqual([]);
      await worker.stop();
    },
    'a rollout ends well though Temporal is killed in the middle of it, twice': async () => {
      const worker = await fleet().startWorker();
      const { namespace, watch } = await running(6);
      await fleet().patchPool(namespace, 'web', { template: NEXT });
      for (const restarts of soak([9, 30], [3, 8])) {
        await inProgress(watch, restarts);
        fleet().stack.kill('temporal', 'SIGKILL');
        // Without Temporal, the worker continues with what it has begun.
        expect(restartsIn(watch)).toBeLessThan(VMS);
        await fleet().stack.restart('temporal');
      }
      await expectDone(namespace, watch, 6);
      expect(watch.gaps).toEqual([]);
      await worker.stop();
    },
    'a rollout ends well though a worker freezes for longer than Temporal waits, and continues beside its replacement':
      async () => {
        const random = seeded(seedOf());
        const workers = [await fleet().startWorker(), await fleet().startWorker()];
        const { namespace, watch } = await running(4);
        await fleet().patchPool(namespace, 'web', { template: NEXT });
        for (const restarts of soak([4, 16, 30, 44], [4])) {
          await inProgress(watch, restarts);
          await sleep(random() * 500);
          const { pid } = workers[Math.floor(random() * 2)]!;
          process.kill(pid, 'SIGSTOP');
          await sleep(25_000);
          process.kill(pid, 'SIGCONT');
        }
        await expectDone(namespace, watch, 4);
        expect(watch.gaps).toEqual([]);
        await Promise.all(workers.map((worker) => worker.stop()));
      },
    'a rollout ends well though the API server is away for a while': async () => {
      const worker = await fleet().startWorker();
      const { namespace, watch } = await running(6);
      await fleet().patchPool(namespace, 'web', { template: NEXT });
      await inProgress(watch, VMS / 3);
      fleet().stack.kill('kube-apiserver', 'SIGKILL');
      await sleep(AWAY_MS);
      await fleet().stack.restart('kube-apiserver');
      expect(restartsIn(watch)).toBeLessThan(VMS);
      await expectDone(namespace, watch, 6);
      await worker.stop();
    },
    'a rollout ends well though the worker alone loses the API server for a while, with calls that hang, break off or are not answered':
      async () => {
        let away = false;
        const fates: Fate[] = ['hang', 'drop-call', 'drop-answer', { status: 503 }, { status: 500 }];
        let calls = 0;
        const proxy = await chaosProxy(fleet().workerKubeconfig, (): Fate =>
          away ? fates[calls++ % fates.length]! : 'pass',
        );
        const worker = await fleet().startWorker({ KUBECONFIG: proxy.kubeconfig });
        const { namespace, watch } = await running(6);
        await fleet().patchPool(namespace, 'web', { template: NEXT });
        await inProgress(watch, VMS / 3);
        away = true;
        proxy.cut();
        await sleep(AWAY_MS);
        away = false;
        proxy.cut();
        expect(restartsIn(watch)).toBeLessThan(VMS);
        await expectDone(namespace, watch, 6);
        expect(watch.gaps).toEqual([]);
        await worker.stop();
      },
  },
  { timeout: soak(900_000, 300_000) },
);
