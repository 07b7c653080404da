import '../world/real-code.ts';
import { expect, test } from 'vitest';
import { REVISION_LABEL } from '../../../api/labels-and-annotations.ts';
import { wantedReplicas } from '../../../api/rules/wanted-replicas.ts';
import { activityNow } from '../facts.ts';
import { aTemplate } from '../pools.ts';
import { begun, play, statusOf } from './story.ts';

test('a worker that was frozen in the middle of a batch brings no VM back to an older revision', () =>
  play(async (world) => {
    await begun(world, {
      replicas: 8,
      maxUnavailable: 4,
      rollout: { progressDeadlineSeconds: 60, onFailure: 'Continue' },
    });
    for (const version of [2, 3, 4]) {
      let frozen: (typeof world.workers)[number] | undefined;
      world.onlookers.push({
        // Freezes the worker in the middle of its writes, while the response to this one is on its way.
        onWrite: (_write, call) => {
          if (frozen !== undefined || activityNow() !== 'updateVms') return;
          frozen = world.workers.find(({ process }) => process === call?.process);
          world.freeze(frozen!);
        },
      });
      await world.people.changePool('web', { template: aTemplate({ version }) });
      await world.until(() => frozen !== undefined, 10_000);
      await world.wait(1_000);
      await world.people.changePool('web', { template: aTemplate({ version: version + 10 }) });
      await world.wait(60_000);
      world.thaw(frozen!);
      await world.wait(30_000);
    }
  }));

test('an undo begins though the worker is cut off that was to write it into the status', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 1, rollout: { progressDeadlineSeconds: 60, onFailure: 'Undo' } });
      const was = statusOf(world)?.currentRevision;
      const revision = (): string | undefined =>
        world.vmsOf(world.pool('web')!.metadata.uid)[0]?.metadata.labels?.[REVISION_LABEL];
      await world.people.changePool('web', { template: aTemplate({ version: 2, neverReady: true }) });
      expect(await world.until(() => revision() !== was, 30_000)).toBe(true);
      await world.wait(30_000);
      world.cutOff(world.workers[0]!, true);
      expect(await world.until(() => revision() === was, 300_000)).toBe(true);
      world.cutOff(world.workers[0]!, false);
    },
    {},
    8,
  ));

test('a worker that loses the API server is replaced within two minutes, and calls no healthy VM failed', () =>
  play(async (world) => {
    await begun(world, { replicas: 4, maxUnavailable: 1, rollout: { progressDeadlineSeconds: 60 } });
    for (const worker of world.workers) {
      world.cutOff(worker, true);
      await world.wait(40_000);
      const replicas = wantedReplicas(world.pool('web')!);
      await world.people.changePool('web', { replicas: replicas + 1 });
      if (!(await world.until(() => world.vmsOf(world.pool('web')!.metadata.uid).length === replicas + 1, 120_000)))
        world.break(`G15: while ${worker.process.name} is cut off, nobody scales the pool`);
      await world.people.changePool('web', { template: aTemplate({ version: replicas }) });
      await world.wait(180_000);
      world.cutOff(worker, false);
      await world.wait(120_000);
      const failed = statusOf(world)?.rollout?.failures ?? [];
      if (failed.length > 0) world.break(`G15: ${JSON.stringify(failed)}`);
    }
  }));

test('a worker that is killed is replaced at its watch within 11 s, after any number of handovers', () =>
  play(async (world) => {
    let watching: { worker: (typeof world.workers)[number]; since: number } | undefined;
    const addWorker = async (): Promise<void> => {
      const worker = await world.addWorker();
      const { watchCluster } = worker.activities;
      worker.activities['watchCluster'] = (...args) => {
        watching = { worker, since: world.time.now };
        return watchCluster!(...args);
      };
    };
    for (const worker of world.workers.slice()) {
      await addWorker();
      world.kill(worker);
    }
    expect(await world.until(() => watching !== undefined, 30_000)).toBe(true);
    for (let handover = 1; handover <= 20; handover++) {
      await addWorker();
      await world.wait(world.time.between(0, 5_000));
      const { worker } = watching!;
      const killedAt = world.time.now;
      world.kill(worker);
      expect(await world.until(() => watching!.worker !== worker, 60_000)).toBe(true);
      const ms = watching!.since - killedAt;
      if (ms > 11_000) world.break(`G15: handover ${handover} of the watch takes ${ms} ms`);
    }
  }));
