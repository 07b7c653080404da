import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { pathOf, VirtualMachinePools } from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { updateBatchIdOf } from '../../../workflows/lib/messages.ts';
import { soakTest, testOneOf } from '../../soak.ts';
import { chaosProxy } from '../chaos-proxy.ts';
import { aFleet, namesUpTo, until, type TestWorker } from '../fleet.ts';
import type { ReadinessWatch } from '../readiness-watch.ts';
import { approvalAt, badTemplate, templateOf, TestPool } from './rollouts.ts';

const fleet = aFleet({ workers: 0 });

const first = revisionOf(templateOf());
/** A stop slow enough for something to happen to drover meanwhile. */
const slow = (cores: number) => templateOf({ cores, annotations: { 'sim.drover.dev/stop-time': '2500ms' } });
const aPool = (spec: Partial<PoolSpec> = {}): Promise<TestPool> =>
  TestPool.ready(fleet(), { replicas: 3, maxUnavailable: 1, ...spec });

const runOf = async (pool: TestPool): Promise<string> => (await pool.workflow.describe()).runId;

/**
 * Terminates the pool's workflow, and waits until the watch has started it again, for which some object must change.
 */
async function terminate(pool: TestPool, poke: () => Promise<unknown>): Promise<void> {
  const before = await runOf(pool);
  await pool.workflow.terminate('a test');
  await poke();
  await until(async () => expect(await runOf(pool)).not.toBe(before));
}

/** Waits until the rollout is complete. Each VM was restarted once, to the revision, with one VM down at most. */
async function expectOneRestartEach(pool: TestPool, watch: ReadinessWatch, revision: string): Promise<void> {
  await pool.untilComplete(revision);
  await watch.caughtUp();
  for (const name of watch.log.names())
    expect([name, watch.log.restartsOf(name).map(({ startedWith }) => startedWith)]).toEqual([name, [revision]]);
  expect(watch.log.mostUnavailable()).toBe(1);
}

describe('a running worker with', () => {
  let worker: TestWorker;
  beforeAll(async () => {
    worker = await fleet().worker();
  });
  afterAll(() => worker.kill());

  describe("the pool's workflow, ended from outside and started again,", () => {
    test('knows that a user has paused, and which one', async () => {
      const pool = await aPool();
      await pool.request('pause', { reason: 'lunch' });
      await pool.untilSaid({ Paused: 'PausedByUser' });
      const next = await pool.change(templateOf({ cores: 2 }));
      await pool.untilSaid({ Progressing: 'Paused' });
      await terminate(pool, () => pool.patch({ replicas: 4 }));
      await pool.until({
        readyReplicas: 4,
        updatedReplicas: 0,
        updateRevision: next,
        rollout: { paused: { reason: 'lunch' } },
      });
      expect(await pool.running(first)).toEqual(namesUpTo('web', 4));
      await pool.request('resume');
      await pool.untilComplete(next);
    });

    testOneOf({
      'VMs of a batch whose workflow is ended from outside are taken up again, and restarted once': async () => {
        const pool = await aPool({ template: slow(1) });
        const watch = await pool.watched();
        const next = await pool.change(slow(2));
        const taken = await pool.waitUntilUpdating();
        const [{ n, vms } = { n: 0, vms: [''] }] = (await pool.progress()).updating;
        expect(vms).toContain(taken);
        await fleet()
          .temporal.client.workflow.getHandle(updateBatchIdOf(pool.ref, next, n))
          .terminate('a test');
        await until(async () => expect((await pool.progress()).updating.map((batch) => batch.n)).not.toContain(n));
        await expectOneRestartEach(pool, watch, next);
      },
      'a worker that is asked to end while a batch waits for its VM hands the wait on at once': async () => {
        const one = await fleet().startWorker();
        onTestFinished(() => one.kill());
        const pool = await aPool({ rollout: { steps: [approvalAt(1)] } });
        const watch = await pool.watched();
        const next = await pool.change(badTemplate(2));
        await until(async () => expect(await pool.running(next)).toHaveLength(1));
        const [taken = ''] = await pool.running(next);
        const other = await fleet().startWorker();
        onTestFinished(() => other.kill());
        const askedAt = Date.now();
        expect(await one.stop()).toBe(0);
        // A wait that it didn't hand over would hold it up for 35 s.
        expect(Date.now() - askedAt).toBeLessThan(30_000);
        const batch = fleet().temporal.client.workflow.getHandle(updateBatchIdOf(pool.ref, next, 1));
        expect((await batch.describe()).status.name).toBe('RUNNING');
        await pool.patchVmi(taken, { metadata: { annotations: { 'sim.drover.dev/never-ready': null } } });
        expect(await batch.result()).toEqual([{ vm: taken, end: 'Updated' }]);
        await watch.caughtUp();
        expect(watch.log.restartsOf(taken)).toHaveLength(1);
      },
    });
  });

  soakTest(
    'a canary that ran well and is then down for the deadline fails the rollout, and has its time again after a resume',
    async () => {
      const pool = await aPool({ rollout: { steps: [approvalAt(1)], progressDeadlineSeconds: 3 } });
      const next = await pool.change(templateOf({ cores: 2 }));
      await pool.untilSaid({ Progressing: 'WaitingForApproval' });
      const [canary] = await pool.running(next);
      const setNeverReady = (value: string | null): Promise<unknown> =>
        pool.patchVmi(canary!, { metadata: { annotations: { 'sim.drover.dev/never-ready': value } } });
      await setNeverReady('true');
      await pool.untilSaid({ Progressing: 'Failed', Degraded: 'Failed' });
      expect((await pool.status()).rollout!.failures).toMatchObject([
        { vm: canary, message: expect.stringMatching(/^it was updated, and has not been ready for 3 s/) as string },
      ]);
      await pool.request('resume');
      await pool.untilSaid({ Degraded: 'NoFailures' });
      await pool.untilSaid({ Degraded: 'Failed' });
      await setNeverReady(null);
      await pool.until({ readyReplicas: 3 });
      await pool.request('resume');
      await pool.untilSaid({ Progressing: 'WaitingForApproval' });
      await pool.request('promote');
      await pool.untilComplete(next);
    },
  );

  test('a scale-in after a rollout has failed takes the VM that failed, and none that is ready', async () => {
    const pool = await aPool({ replicas: 4, rollout: { progressDeadlineSeconds: 2 } });
    const bad = await pool.change(badTemplate(2));
    await pool.untilSaid({ Progressing: 'Failed' });
    const [broken] = await pool.running(bad);
    const ready = namesUpTo('web', 4).filter((name) => name !== broken);
    const before = await pool.vmiUids();
    await pool.patch({ replicas: 3 });
    await fleet().settled(pool.namespace, 'web', ready);
    const after = await pool.vmiUids();
    expect(after).toEqual(Object.fromEntries(ready.map((name) => [name, before[name]])));
  });

  test('a pool that is deleted in the middle recreates no VM, and leaves nothing', async () => {
    const pool = await aPool({ template: slow(1) });
    const watch = await pool.watched();
    await pool.change(slow(2));
    await pool.waitUntilUpdating();
    await fleet().kube.delete(VirtualMachinePools, { namespace: pool.namespace, name: 'web' });
    await pool.workflow.result();
    expect([...(await pool.vms()).keys()]).toEqual([]);
    await watch.caughtUp();
    for (const name of namesUpTo('web', 3))
      expect(
        watch.log.history(name).filter(({ what }) => what.startsWith('VM ') && what.includes('there')),
      ).toHaveLength(1);
    await until(async () => expect((await pool.batches()).map(({ status }) => status)).toEqual(['COMPLETED']));
  });
});

test('a VMI whose new labels the API server refuses fails its VM in these words', async () => {
  const proxy = await chaosProxy(fleet().workerKubeconfig, (method, path) =>
    method === 'PATCH' && path.includes('/virtualmachineinstances/')
      ? { status: 422, message: 'metadata.labels: no such label here' }
      : 'pass',
  );
  const worker = await fleet().startWorker({ KUBECONFIG: proxy.kubeconfig });
  onTestFinished(() => worker.kill());
  const pool = await aPool();
  await pool.change(templateOf({ labels: { tier: 'front' } }));
  await pool.untilSaid({ Progressing: 'Failed' });
  const whys = (await pool.status()).rollout!.failures.map(({ message: why }) => why);
  expect(new Set(whys)).toEqual(new Set(['metadata.labels: no such label here']));
});

const CONTACT = `GET ${pathOf(VirtualMachinePools, undefined)} pass`;

soakTest(
  'a rollout that waits for a user costs nothing: no event of a history, no call to the API server',
  async () => {
    const proxy = await chaosProxy(fleet().workerKubeconfig, () => 'pass');
    const worker = await fleet().startWorker({ KUBECONFIG: proxy.kubeconfig });
    onTestFinished(() => worker.kill());
    const pool = await aPool({ rollout: { steps: [approvalAt(1)] } });
    const next = await pool.change(templateOf({ cores: 2 }));
    await pool.untilSaid({ Progressing: 'WaitingForApproval' });
    const length = async (): Promise<number> => (await pool.workflow.describe()).historyLength;
    // Pools of other tests may still be active, and each worker checks the API server every few seconds.
    const isOurs = (call: string): boolean =>
      call.includes('/namespaces/') ? call.includes(`/namespaces/${pool.namespace}/`) : call !== CONTACT;
    const calls = (): string[] => proxy.calls.filter(isOurs);
    const seen = { length: -1, calls: -1, at: Date.now() };
    // Everything in flight has settled when nothing has happened for this long.
    await until(async () => {
      const now = { length: await length(), calls: calls().length };
      if (now.length !== seen.length || now.calls !== seen.calls) Object.assign(seen, now, { at: Date.now() });
      expect(Date.now() - seen.at).toBeGreaterThan(3_000);
    });
    await sleep(10_000);
    expect(await length()).toBe(seen.length);
    expect(calls().slice(seen.calls)).toEqual([]);
    await pool.request('promote');
    await pool.untilComplete(next);
  },
);
