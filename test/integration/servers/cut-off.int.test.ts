import { expect, onTestFinished, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { watchIdOf } from '../../../workflows/lib/messages.ts';
import { chaosProxy } from '../chaos-proxy.ts';
import { aFleet, namesUpTo, until } from '../fleet.ts';
import { freePort } from '../free-port.ts';

const fleet = aFleet({ workers: 0 });
/** How long a cluster may go without a working watcher. */
const TAKEN_OVER_MS = 40_000;

interface CutOffWorker {
  pid: number;
  isReady: () => Promise<boolean>;
  /** From now on its calls to the API server hang, and its watches report nothing; Temporal still reaches it. */
  cutOff: () => void;
  reconnect: () => void;
}

async function aWorker(): Promise<CutOffWorker> {
  let isCutOff = false;
  const { kubeconfig, cut } = await chaosProxy(fleet().stack.kubeconfig, () => (isCutOff ? 'hang' : 'pass'));
  const port = await freePort();
  const worker = await fleet().startWorker({ KUBECONFIG: kubeconfig, DROVER_HEALTH_PORT: String(port) });
  onTestFinished(() => worker.kill());
  return {
    pid: worker.pid,
    isReady: async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok,
    cutOff: () => {
      isCutOff = true;
      cut();
    },
    reconnect: () => {
      isCutOff = false;
      cut();
    },
  };
}

/** Returns the id of the process that watches the cluster. */
async function watcher(): Promise<number> {
  const { raw } = await fleet().temporal.client.workflow.getHandle(watchIdOf('default')).describe();
  return Number(raw.pendingActivities?.[0]?.lastWorkerIdentity?.split('@')[0]);
}

const templateOf = (release: string): PoolSpec['template'] => ({
  spec: {
    runStrategy: 'Always',
    template: {
      metadata: { annotations: { 'sim.drover.dev/boot-time': '2s', 'sim.drover.dev/stop-time': '100ms', release } },
      spec: { domain: { devices: {}, memory: { guest: '64Mi' }, cpu: { cores: release === 'one' ? 1 : 2 } } },
    },
  },
});

test('a worker that loses the API server alone gives its place to the other, and calls no healthy VM failed', async () => {
  const lone = await aWorker();
  await until(async () => expect(await watcher()).toBe(lone.pid));
  const namespace = await fleet().namespace();
  const pools = ['one', 'two', 'three'];
  for (const name of pools) {
    const rollout = { progressDeadlineSeconds: 15, maxFailures: 0 };
    await fleet().createPool(namespace, name, { replicas: 3, maxUnavailable: 1, template: templateOf('one'), rollout });
  }
  await until(async () => {
    for (const name of pools)
      expect((await fleet().pool(namespace, name))?.status).toMatchObject({ readyReplicas: 3, updatedReplicas: 3 });
  });
  const other = await aWorker();
  for (const name of pools) await fleet().patchPool(namespace, name, { template: templateOf('two') });
  await until(async () => {
    for (const name of pools)
      expect((await fleet().pool(namespace, name))?.status?.rollout?.batches).toBeGreaterThan(0);
  });
  lone.cutOff();
  const since = Date.now();
  await fleet().createPool(namespace, 'new', { replicas: 2 });
  await until(async () => expect(await lone.isReady()).toBe(false), TAKEN_OVER_MS);
  await until(async () => expect(await watcher()).toBe(other.pid), TAKEN_OVER_MS);
  await until(async () => expect(await fleet().vmNames(namespace, 'new')).toEqual(namesUpTo('new', 2)), TAKEN_OVER_MS);
  expect(Date.now() - since).toBeLessThan(TAKEN_OVER_MS);
  expect(await other.isReady()).toBe(true);
  await until(async () => {
    for (const name of pools) {
      const { rollout, currentRevision, updateRevision } = (await fleet().pool(namespace, name))!.status!;
      expect(rollout).toMatchObject({ failures: [] });
      expect(currentRevision).toBe(updateRevision);
    }
  });
  lone.reconnect();
  // Its running work gets time to end first.
  await until(async () => expect(await lone.isReady()).toBe(true));
});
