import { expect, onTestFinished, test } from 'vitest';
import type { DisruptedVm } from '../../../api/pool/pool.ts';
import { VirtualMachinePools } from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { soak } from '../../soak.ts';
import { aFleet, namesUpTo, runningTemplate, until, type PoolObject } from '../fleet.ts';
import { aSecondLater, TestOperation } from '../operations/operations.ts';
import { aProxiedWorker } from '../proxied-worker.ts';
import { ReadinessWatch } from '../readiness-watch.ts';
import { untilSeen } from '../until-seen.ts';

const fleet = aFleet({ workers: 0 });
// Two workers whose watches are late.
for (const watchLag of [150, 300]) aProxiedWorker(fleet, { watchLag });

const POOLS = soak(16, 3);
const VMS = soak(10, 5);

/** Creates a pool in a namespace of its own, with one VM unavailable at most, and watches it independently. */
async function aWatchedPool(): Promise<ReadinessWatch & { namespace: string }> {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: VMS, maxUnavailable: 1, template: runningTemplate });
  const watch = await ReadinessWatch.start(fleet().kube, namespace);
  onTestFinished(() => watch.stop());
  return Object.assign(watch, { namespace });
}

test("operations on two workers whose caches lag take no place of a pool's budget twice", async () => {
  const pools = await Promise.all(Array.from({ length: POOLS }, aWatchedPool));
  await until(async () => {
    for (const { namespace } of pools)
      expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({
        readyReplicas: VMS,
        updatedReplicas: VMS,
      });
  });
  for (const pool of pools) await pool.startRecording();
  await aSecondLater();
  const halves = [0, 1].map((half) => namesUpTo('web', VMS).filter((_name, index) => index % 2 === half));
  const operations = await Promise.all(
    pools.flatMap(({ namespace }) =>
      halves.map((names, half) =>
        TestOperation.make(
          fleet().kube,
          namespace,
          { vms: { names }, atOnce: VMS, deadline: '2m' },
          { name: `half-${half}` },
        ),
      ),
    ),
  );
  for (const operation of operations) await operation.stands('Complete');
  for (const pool of pools) {
    await pool.caughtUp();
    expect(pool.log.mostUnavailable()).toBe(1);
    expect(namesUpTo('web', VMS).filter((name) => pool.log.restartsOf(name).length !== 1)).toEqual([]);
  }
});

test('a pool whose VMs are no longer disrupted reports no claims', async () => {
  const pool = await aWatchedPool();
  await until(async () =>
    expect((await fleet().pool(pool.namespace, 'web'))?.status).toMatchObject({
      readyReplicas: VMS,
      updatedReplicas: VMS,
    }),
  );
  await pool.startRecording();
  const template = structuredClone(runningTemplate);
  Object.assign(template.spec.template, {
    spec: { domain: { devices: {}, cpu: { cores: 2 }, memory: { guest: '64Mi' } } },
  });
  const claims: DisruptedVm[] = [];
  const key = { namespace: pool.namespace, name: 'web' };
  const over = untilSeen<PoolObject>(fleet().kube, VirtualMachinePools, key, ({ status }) => {
    const { currentRevision, updateRevision, disruptedVMs = [] } = status!;
    claims.push(...disruptedVMs);
    expect(updateRevision).toBe(revisionOf(template));
    expect(currentRevision).toBe(updateRevision);
    expect(disruptedVMs).toEqual([]);
  });
  await fleet().patchPool(pool.namespace, 'web', { template, maxUnavailable: 3 });
  await over;
  expect(claims[0]).toMatchObject({
    vm: expect.stringMatching(/^web-/),
    vmi: expect.any(String),
    by: expect.stringContaining('/update/'),
  });
  await pool.caughtUp();
  expect(pool.log.mostUnavailable()).toBeLessThanOrEqual(3);
  expect(namesUpTo('web', VMS).filter((name) => pool.log.restartsOf(name).length !== 1)).toEqual([]);
});
