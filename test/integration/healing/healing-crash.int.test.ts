import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { DataVolumes, PersistentVolumeClaims, VirtualMachines } from '../../../api/resources.ts';
import { testOneOf } from '../../soak.ts';
import { chaosProxy, type Fate } from '../chaos-proxy.ts';
import { aFleet, until } from '../fleet.ts';
import { HealedPool, QUICK, withDisk, withFastStarts, type Lives } from './healings.ts';

const fleet = aFleet({ ownStack: true, workers: 0 });
withFastStarts(fleet);

/** Waits until web-2 is one new VM with new storage, and the other VMs are as they were. */
async function expectHealed(pool: HealedPool, lives: Lives): Promise<void> {
  await pool.untilFinished(2, { end: 'Healed', attempts: 1 });
  await pool.pool.until({ replicas: 3, readyReplicas: 3 });
  lives.expectFresh(2, 2);
  for (const number of [1, 3]) lives.expectFresh(number, 1);
}

const phases = ['Removing', 'Waiting', 'Provisioning'] as const;
/** How long a cycle stays in its phase: the others reach theirs within this time. */
const STAYS_MS = 10_000;

/** A pool with a cycle in one phase. `letGo` removes the finalizer that holds the VM in the phase Removing. */
interface Scene<T> {
  pool: HealedPool;
  /** What `look` returned while all VMs were healthy. */
  seen: T;
  letGo: () => Promise<void>;
}

/** Returns three pools, each with a cycle in another phase, all at this moment. */
async function inAllPhases<T>(look: (pool: HealedPool) => Promise<T>): Promise<Scene<T>[]> {
  const scenes = await Promise.all(
    phases.map(async (phase): Promise<Scene<T>> => {
      const backoff = { initial: phase === 'Waiting' ? `${STAYS_MS}ms` : '300ms', jitter: 0 };
      const pool = await HealedPool.ready(fleet(), { replicas: 3, autohealing: { ...QUICK, backoff } });
      const seen = await look(pool);
      const letGo = phase === 'Removing' ? await pool.holdBack(2) : async (): Promise<void> => {};
      if (phase === 'Provisioning') await pool.pool.patch({ rollout: { minReadySeconds: STAYS_MS / 1000 } });
      return { pool, seen, letGo };
    }),
  );
  await Promise.all(scenes.map(({ pool }) => pool.break(2)));
  await until(async () => {
    const cycles = await Promise.all(scenes.map(async ({ pool }) => (await pool.healing()).cycles));
    expect(cycles).toMatchObject(phases.map((phase) => [{ vm: 'web-2', phase }]));
  });
  return scenes;
}

const expectAllHealed = (scenes: readonly Scene<Lives>[]): Promise<unknown> =>
  Promise.all(scenes.map(({ pool, seen }) => expectHealed(pool, seen)));
const letAllGo = (scenes: readonly Scene<unknown>[]): Promise<unknown> =>
  Promise.all(scenes.map(({ letGo }) => letGo()));

const moments: [string, (method: string, path: string) => boolean, Fate][] = [
  [
    'has been asked to delete the VM, and before it hears that it was done',
    (method, path) => method === 'DELETE' && path.includes('/web-2'),
    'drop-answer',
  ],
  ['asks to delete the VM', (method, path) => method === 'DELETE' && path.includes('/web-2'), 'drop-call'],
  [
    'has made the new VM, and before it hears of it',
    (method, path) => method === 'POST' && path.includes('/virtualmachines'),
    'drop-answer',
  ],
];

async function killedAs(isIt: (method: string, path: string) => boolean, fate: Fate): Promise<void> {
  const first = await fleet().startWorker();
  const pool = await HealedPool.ready(fleet(), {
    replicas: 3,
    autohealing: { ...QUICK, backoff: { initial: '300ms', jitter: 0 } },
  });
  const lives = await pool.lives();
  await first.kill();
  const met = Promise.withResolvers<void>();
  const dying = await chaosProxy(fleet().workerKubeconfig, (method, path): Fate => {
    if (!isIt(method, path)) return 'pass';
    met.resolve();
    return fate;
  });
  const second = await fleet().startWorker({ KUBECONFIG: dying.kubeconfig });
  await pool.break(2);
  await met.promise;
  await second.kill();
  const third = await fleet().startWorker();
  await expectHealed(pool, lives);
  await third.stop();
}

/** Returns the UIDs of the pool's VMs, disks and claims, by kind and name. */
async function objectsOf({ pool: { namespace } }: HealedPool): Promise<Record<string, string>> {
  const lists = await Promise.all(
    [VirtualMachines, DataVolumes, PersistentVolumeClaims].map((resource) =>
      fleet().kube.list(resource, { namespace }),
    ),
  );
  return Object.fromEntries(
    lists.flatMap(({ items }, index) => items.map(({ metadata: { name, uid } }) => [`${index} ${name}`, uid])),
  );
}

testOneOf({
  'each name has one VM with fresh storage after the worker is killed while cycles are in every phase': async () => {
    const first = await fleet().startWorker();
    const scenes = await inAllPhases((pool) => pool.lives());
    await first.kill();
    await letAllGo(scenes);
    // The next worker must find what happened while none ran.
    await sleep(500);
    const second = await fleet().startWorker();
    await expectAllHealed(scenes);
    await second.stop();
  },
  'one VM is on the disk that stays after the worker is killed while its VM goes': async () => {
    const first = await fleet().startWorker();
    const pool = await HealedPool.ready(fleet(), { replicas: 3, autohealing: { ...QUICK, preserveStorage: true } });
    const lives = await pool.lives();
    const letGo = await pool.holdBack(2);
    await pool.break(2);
    await until(async () => expect((await pool.pool.vm('web-2')).spec?.runStrategy).toBe('Halted'));
    await first.kill();
    await letGo();
    const second = await fleet().startWorker();
    await pool.untilFinished(2, { end: 'Healed', attempts: 1 });
    await pool.pool.until({ replicas: 3, readyReplicas: 3 });
    expect([
      lives.of('vm', 'web-2').length,
      lives.of('disk', 'disk-2').length,
      lives.of('claim', 'disk-2').length,
    ]).toEqual([2, 1, 1]);
    await second.stop();
  },
  'a disk stays if all workers are away while its VM runs for the first time, and then its starts fail': async () => {
    const first = await fleet().startWorker();
    const { preserveStorage: _, ...rules } = QUICK;
    const pool = await HealedPool.made(fleet(), {
      replicas: 1,
      template: withDisk({ provisionTime: '3s' }),
      autohealing: rules,
    });
    await until(async () => expect(await pool.pool.vms()).toHaveLength(1));
    const lives = await pool.lives();
    await first.kill();
    await until(async () => expect((await pool.pool.vm('web-1')).status?.ready).toBe(true));
    await pool.break(1);
    await until(async () =>
      expect((await pool.pool.vm('web-1')).status?.startFailure?.consecutiveFailCount).toBeGreaterThanOrEqual(3),
    );
    const second = await fleet().startWorker();
    await pool.untilFinished(1, { end: 'Healed', attempts: 1 });
    expect([
      lives.of('vm', 'web-1').length,
      lives.of('disk', 'disk-1').length,
      lives.of('claim', 'disk-1').length,
    ]).toEqual([2, 1, 1]);
    await second.stop();
  },
  ...Object.fromEntries(
    moments.map(([moment, isIt, fate]) => [`the worker is killed as it ${moment}`, () => killedAs(isIt, fate)]),
  ),
  'each name has one VM with fresh storage after Temporal is killed while cycles are in every phase': async () => {
    const worker = await fleet().startWorker();
    const scenes = await inAllPhases((pool) => pool.lives());
    fleet().stack.kill('temporal', 'SIGKILL');
    await letAllGo(scenes);
    await fleet().stack.restart('temporal');
    await expectAllHealed(scenes);
    await worker.stop();
  },
  // A restarted API server has no earlier changes: intermediate objects can't be traced.
  'each name has one VM, and none is left over, after the API server is killed while cycles are in every phase':
    async () => {
      const worker = await fleet().startWorker();
      const scenes = await inAllPhases(objectsOf);
      fleet().stack.kill('kube-apiserver', 'SIGKILL');
      await fleet().stack.restart('kube-apiserver');
      await letAllGo(scenes);
      for (const { pool, seen: before } of scenes) {
        await pool.untilFinished(2, { end: 'Healed', attempts: 1 });
        await pool.pool.until({ replicas: 3, readyReplicas: 3 });
        const after = await objectsOf(pool);
        expect(Object.keys(after)).toEqual(Object.keys(before));
        expect(Object.keys(after).filter((name) => after[name] !== before[name])).toEqual([
          '0 web-2',
          '1 disk-2',
          '2 disk-2',
        ]);
      }
      await worker.stop();
    },
});
