/* oxlint-disable unicorn/no-thenable -- the word is the user's */
import { DO_NOT_DISRUPT_ANNOTATION, RESTARTED_AT_ANNOTATION } from '../../api/names.ts';
import type { PoolSpec, PoolStatus, VmTemplate } from '../../api/pool/pool.ts';
import { VirtualMachines } from '../../api/resources.ts';
import { corruptDisk } from './play.ts';
import { aTemplate, type Shape } from './pools.ts';
import type { RolloutLog } from './rollout-log.ts';
import { NAMESPACE, type World, type WorldOptions } from './world/world.ts';

interface Stage {
  world: World;
  log: RolloutLog;
}

/** A rollout that is played and written down. */
export interface Story {
  /** The pool, in words. */
  about: string;
  spec: Partial<PoolSpec>;
  live: (stage: Stage) => Promise<void>;
  options?: Partial<WorldOptions>;
}

const MINUTE = 60_000;

const statusOf = (world: World): PoolStatus | undefined => world.pool('web')?.['status'] as PoolStatus | undefined;

/** A template whose disks are filled from another source. */
function fromAnotherSource(shape: Shape): VmTemplate {
  const template = aTemplate(shape);
  for (const { spec } of template.spec.dataVolumeTemplates ?? []) {
    Object.assign(spec as object, { source: { pvc: { namespace: 'images', name: 'second' } } });
  }
  return template;
}

/** Gives the pool another template, in the words of `Shape`. */
async function roll({ world, log }: Stage, shape: Shape, words = `template ${JSON.stringify(shape)}`): Promise<void> {
  log.person(words);
  await world.changePool('web', { template: aTemplate(shape) });
}

async function change({ world, log }: Stage, spec: Partial<PoolSpec>, words = JSON.stringify(spec)): Promise<void> {
  log.person(words);
  await world.changePool('web', spec);
}

function signal({ world, log }: Stage, name: string, payload: object = {}): void {
  log.person(`signal ${name} ${JSON.stringify(payload)}`);
  world.signal('web', name, { by: 'ann', ...payload });
}

/** Waits until the rollout of the template is complete, at most for so long. */
async function completed({ world }: Stage, ms = 30 * MINUTE): Promise<void> {
  const isComplete = (): boolean => {
    const { observedGeneration, currentRevision, updateRevision, readyReplicas } = statusOf(world) ?? {};
    const { metadata, spec } = world.pool('web')!;
    const isNow = observedGeneration === metadata.generation;
    return isNow && currentRevision === updateRevision && readyReplicas === (spec as PoolSpec).replicas;
  };
  if (!(await world.until(isComplete, ms))) world.break('the rollout does not complete');
  await world.wait(2_000);
}

/** Waits until so many VMs are of the pool's template. */
const updated = (world: World, count: number): Promise<boolean> =>
  world.until(() => {
    const { observedGeneration, updatedReplicas = 0 } = statusOf(world) ?? {};
    return observedGeneration === world.pool('web')!.metadata.generation && updatedReplicas >= count;
  }, 10 * MINUTE);

/** The first VM that is down. */
const downVm = (world: World): string =>
  world
    .vmsOf(world.pool('web')!.metadata.uid)
    .map(({ metadata }) => metadata.name)
    .find((name) => world.vmi(name)?.status?.phase !== 'Running') ?? 'web-1';

async function someDown({ world }: Stage): Promise<string> {
  await world.until(() => (statusOf(world)?.readyReplicas ?? 0) < (statusOf(world)?.replicas ?? 0), MINUTE);
  return downVm(world);
}

/** A rollout of a template whose VMs restart for it, and nothing else. */
const regular = (about: string, spec: Partial<PoolSpec>, shape: Shape = { version: 2 }): Story => ({
  about,
  spec,
  live: async (stage) => {
    await roll(stage, shape);
    await completed(stage);
  },
});

const failing = (
  onFailure: 'Pause' | 'Undo' | 'Continue',
  about: string,
  then?: (stage: Stage) => Promise<void>,
): Story => ({
  about,
  spec: { replicas: 4, maxUnavailable: 2, rollout: { progressDeadlineSeconds: 30, onFailure } },
  live: async (stage) => {
    await roll(stage, { version: 2, neverReady: true });
    await stage.world.wait(2 * MINUTE);
    await then?.(stage);
  },
});

/** Something happens to a pool of five, two at a time, while the first batch is down. */
const amid = (
  about: string,
  happen: (stage: Stage, down: string) => Promise<void> | void,
  spec: Partial<PoolSpec> = {},
): Story => ({
  about,
  spec: { replicas: 5, maxUnavailable: 2, template: aTemplate({ bootMs: 5_000 }), ...spec },
  live: async (stage) => {
    await roll(stage, { version: 2, bootMs: 5_000 });
    await happen(stage, await someDown(stage));
    await completed(stage);
  },
});

const workerAmid = (about: string, what: 'kill' | 'freeze' | 'cut off', after: number): Story => ({
  about,
  spec: { replicas: 4, maxUnavailable: 2, template: aTemplate({ bootMs: 5_000 }) },
  live: async (stage) => {
    const { world, log } = stage;
    await roll(stage, { version: 2, bootMs: 5_000 });
    await world.wait(after);
    const [worker] = world.workers;
    log.person(`worker-1: ${what}, for 30 s`);
    if (what === 'kill') world.kill(worker!);
    else if (what === 'freeze') world.freeze(worker!);
    else world.cutOff(worker!, true);
    await world.wait(30_000);
    if (what === 'kill') await world.addWorker();
    else if (what === 'freeze') world.thaw(worker!);
    else world.cutOff(worker!, false);
    await completed(stage);
  },
});

export const stories: Record<string, Story> = {
  'one at a time': regular('5 VMs, maxUnavailable 1', { replicas: 5, maxUnavailable: 1 }),
  'one VM': regular('1 VM', { replicas: 1 }),
  'two at a time': regular('6 VMs, maxUnavailable 2', { replicas: 6, maxUnavailable: 2 }),
  'none goes down before another has come up': regular('4 VMs, maxUnavailable 0, maxSurge 1', {
    replicas: 4,
    maxUnavailable: 0,
    maxSurge: 1,
  }),
  'an extra VM fails, and the rollout is undone': {
    about: '4 VMs, maxUnavailable 0, maxSurge 1, onFailure Undo; VMs of B never get ready',
    spec: {
      replicas: 4,
      maxUnavailable: 0,
      maxSurge: 1,
      rollout: { progressDeadlineSeconds: 30, onFailure: 'Undo' },
    },
    live: async (stage) => {
      await roll(stage, { version: 2, neverReady: true });
      await stage.world.wait(2 * MINUTE);
    },
  },
  'all at once': regular('8 VMs, maxUnavailable 100%', { replicas: 8, maxUnavailable: '100%' }),
  'a quarter at a time': regular('10 VMs, maxUnavailable by default', { replicas: 10 }),
  'VMs that take long to boot': regular(
    '4 VMs that boot in a minute, maxUnavailable 1',
    {
      replicas: 4,
      maxUnavailable: 1,
      template: aTemplate({ bootMs: MINUTE }),
    },
    { version: 2, bootMs: MINUTE },
  ),
  'a VM must be ready for a while': regular('4 VMs, maxUnavailable 1, minReadySeconds 20', {
    replicas: 4,
    maxUnavailable: 1,
    rollout: { minReadySeconds: 20 },
  }),
  'with disks': regular(
    '3 VMs with a disk each, maxUnavailable 1',
    {
      replicas: 3,
      maxUnavailable: 1,
      template: aTemplate({ disk: 'root' }),
    },
    { version: 2, disk: 'root' },
  ),
  'VMs are replaced': {
    about: '3 VMs with a disk each, maxUnavailable 1, disruption Replace; the disk gets another source',
    spec: {
      replicas: 3,
      maxUnavailable: 1,
      template: aTemplate({ disk: 'root' }),
      updateStrategy: { proactive: { disruption: 'Replace' } },
    },
    live: async (stage) => {
      await change(stage, { template: fromAnotherSource({ disk: 'root' }) }, 'the disk template gets another source');
      await completed(stage);
    },
  },
  'another source of the disk without leave to replace': {
    about: '3 VMs with a disk each, maxUnavailable 1, disruption Restart by default; the disk gets another source',
    spec: { replicas: 3, maxUnavailable: 1, template: aTemplate({ disk: 'root' }) },
    live: async (stage) => {
      await change(stage, { template: fromAnotherSource({ disk: 'root' }) }, 'the disk template gets another source');
      await stage.world.wait(MINUTE);
    },
  },
  'another disk': regular(
    '3 VMs with a disk each, maxUnavailable 1; B has a disk of another name',
    { replicas: 3, maxUnavailable: 1, template: aTemplate({ disk: 'root' }) },
    { version: 2, disk: 'system' },
  ),
  'a restart on demand': {
    about: '3 VMs, maxUnavailable 1; drover rollout restart',
    spec: { replicas: 3, maxUnavailable: 1 },
    live: async (stage) => {
      stage.log.person('drover rollout restart');
      const template = aTemplate();
      const { metadata } = template.spec.template as { metadata: { annotations: Record<string, string> } };
      metadata.annotations[RESTARTED_AT_ANNOTATION] = '2026-01-01T00:00:20Z';
      await stage.world.changePool('web', { template });
      await completed(stage);
    },
  },
  canary: {
    about: '5 VMs, maxUnavailable 2, a step of 1 VM that waits for approval',
    spec: { replicas: 5, maxUnavailable: 2, rollout: { steps: [{ to: 1, then: { approval: {} } }] } },
    live: async (stage) => {
      await roll(stage, { version: 2 });
      await updated(stage.world, 1);
      await stage.world.wait(5 * MINUTE);
      signal(stage, 'promote');
      await completed(stage);
    },
  },
  'steps that wait': {
    about: '6 VMs, maxUnavailable 3, steps of 1 VM and of 50 % that wait for a minute each',
    spec: {
      replicas: 6,
      maxUnavailable: 3,
      rollout: {
        steps: [
          { to: 1, then: { wait: '1m' } },
          { to: '50%', then: { wait: '1m' } },
        ],
      },
    },
    live: async (stage) => {
      await roll(stage, { version: 2 });
      await completed(stage);
    },
  },
  'promoted through all steps': {
    about: '6 VMs, maxUnavailable 3, steps of 1 VM and of 50 % that wait for approval',
    spec: {
      replicas: 6,
      maxUnavailable: 3,
      rollout: {
        steps: [
          { to: 1, then: { approval: {} } },
          { to: '50%', then: { approval: {} } },
        ],
      },
    },
    live: async (stage) => {
      await roll(stage, { version: 2 });
      await updated(stage.world, 1);
      signal(stage, 'promote', { full: true });
      await completed(stage);
    },
  },
  'a failing revision pauses': failing('Pause', '4 VMs, maxUnavailable 2, onFailure Pause; VMs of B never get ready'),
  'a failing revision is set right': failing(
    'Pause',
    '4 VMs, maxUnavailable 2, onFailure Pause; then C is right',
    async (stage) => {
      await roll(stage, { version: 3 });
      await completed(stage);
    },
  ),
  'a failing revision is undone': failing('Undo', '4 VMs, maxUnavailable 2, onFailure Undo; VMs of B never get ready'),
  'a failing revision goes on': failing(
    'Continue',
    '4 VMs, maxUnavailable 2, onFailure Continue; VMs of B never get ready',
  ),
  'one failure is allowed': {
    about: '5 VMs, maxUnavailable 1, maxFailures 1, onFailure Pause; VMs of B never get ready',
    spec: { replicas: 5, maxUnavailable: 1, rollout: { progressDeadlineSeconds: 20, maxFailures: 1 } },
    live: async (stage) => {
      await roll(stage, { version: 2, neverReady: true });
      await stage.world.wait(3 * MINUTE);
    },
  },
  'paused and resumed': amid('5 VMs, maxUnavailable 2, paused for a minute', async (stage) => {
    signal(stage, 'pause', { why: 'lunch' });
    await stage.world.wait(MINUTE);
    signal(stage, 'resume');
  }),
  'the pool is paused in its spec': amid('5 VMs, maxUnavailable 2, spec.paused for a minute', async (stage) => {
    await change(stage, { paused: true });
    await stage.world.wait(MINUTE);
    await change(stage, { paused: false });
  }),
  'aborted and resumed': amid('5 VMs, maxUnavailable 2, aborted and resumed a minute later', async (stage) => {
    signal(stage, 'abort');
    await stage.world.wait(MINUTE);
    signal(stage, 'resume');
  }),
  'two changes in a row': amid('5 VMs, maxUnavailable 2; C follows B at once', async (stage) => {
    await roll(stage, { version: 3, bootMs: 5_000 });
  }),
  'changed back': amid('5 VMs, maxUnavailable 2; A follows B at once', async (stage) => {
    await roll(stage, { version: 1, bootMs: 5_000 });
  }),
  'a person deletes a VM of the batch': amid('5 VMs, maxUnavailable 2', async ({ world, log }, down) => {
    log.person(`delete ${down}`);
    await world.deleteVm(down);
  }),
  'a person deletes another VM': amid('5 VMs, maxUnavailable 2', async ({ world, log }) => {
    log.person('delete web-5');
    await world.deleteVm('web-5');
  }),
  'a person stops a VM': {
    about: '4 VMs, maxUnavailable 1; web-4 is stopped before its turn, and started later',
    spec: { replicas: 4, maxUnavailable: 1 },
    live: async (stage) => {
      const { world, log } = stage;
      await roll(stage, { version: 2 });
      log.person('stop web-4');
      await world.power('web-4', 'stop');
      await world.wait(MINUTE);
      log.person('start web-4');
      await world.power('web-4', 'start');
      await completed(stage);
    },
  },
  'a person takes a VM out': amid('5 VMs, maxUnavailable 2', async ({ world, log }, down) => {
    log.person(`take ${down} out of the pool`);
    await world.detach(down);
  }),
  'a VM opts out': {
    about: '3 VMs, maxUnavailable 1; web-2 is not to be disrupted',
    spec: { replicas: 3, maxUnavailable: 1 },
    live: async (stage) => {
      const { world, log } = stage;
      log.person('web-2 is not to be disrupted');
      await world.client.patch(VirtualMachines, { namespace: NAMESPACE, name: 'web-2' }, 'merge', {
        metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } },
      });
      await roll(stage, { version: 2 });
      await world.wait(MINUTE);
    },
  },
  'scale-out in the middle': amid('5 VMs, maxUnavailable 2; 8 are wanted', (stage) => change(stage, { replicas: 8 })),
  'scale-in in the middle': amid('5 VMs, maxUnavailable 2; 3 are wanted', (stage) => change(stage, { replicas: 3 })),
  'a VM fails in the middle': amid(
    '5 VMs, maxUnavailable 2; web-5, which waits for its turn, crashes',
    ({ world, log }) => {
      log.person('web-5 crashes');
      world.crash('web-5');
    },
  ),
  'healing in the middle': {
    about:
      '4 VMs with a disk each, maxUnavailable 2, autohealing, maxFailures 1; the disk of web-4 is corrupt when it restarts',
    spec: {
      replicas: 4,
      maxUnavailable: 2,
      rollout: { maxFailures: 1, progressDeadlineSeconds: 60 },
      autohealing: { preserveStorage: false, backoff: { initial: '5s', jitter: 0 } },
      template: aTemplate({ disk: 'root' }),
    },
    live: async (stage) => {
      stage.log.person('the disk root-4 is corrupt');
      await corruptDisk(stage.world, 'root-4');
      await roll(stage, { version: 2, disk: 'root' });
      await completed(stage);
    },
  },
  'a maintenance window': {
    about: '3 VMs, maxUnavailable 1; a window opens at five past for 10 minutes',
    spec: { replicas: 3, maxUnavailable: 1, rollout: { windows: [{ cron: '5 * * * *', duration: '10m' }] } },
    live: async (stage) => {
      await roll(stage, { version: 2 });
      await completed(stage);
    },
  },
  'a window that closes': {
    about: '4 VMs that boot in 40 s, maxUnavailable 1; a window opens at five past for a minute',
    spec: {
      replicas: 4,
      maxUnavailable: 1,
      template: aTemplate({ bootMs: 40_000 }),
      rollout: { windows: [{ cron: '5 * * * *', duration: '1m' }] },
    },
    live: async (stage) => {
      await roll(stage, { version: 2, bootMs: 40_000 });
      await completed(stage, 4 * 60 * MINUTE);
    },
  },
  'VMs are left alone': {
    about: '3 VMs, updateStrategy unmanaged; web-2 is deleted',
    spec: { replicas: 3, updateStrategy: { unmanaged: {} } },
    live: async (stage) => {
      const { world, log } = stage;
      await roll(stage, { version: 2 });
      await world.wait(20_000);
      log.person('delete web-2');
      await world.deleteVm('web-2');
      await world.wait(20_000);
    },
  },
  'VMs are updated when they restart': {
    about: '3 VMs, updateStrategy opportunistic; web-2 is stopped and started',
    spec: { replicas: 3, updateStrategy: { opportunistic: {} } },
    live: async (stage) => {
      const { world, log } = stage;
      await roll(stage, { version: 2 });
      await world.wait(20_000);
      log.person('stop web-2');
      await world.power('web-2', 'stop');
      await world.wait(20_000);
      log.person('start web-2');
      await world.power('web-2', 'start');
      await world.wait(20_000);
    },
  },
  'the budget is taken by a restart of VMs': {
    about: '4 VMs, maxUnavailable 1; drover vm restart of all of them runs beside the rollout',
    spec: { replicas: 4, maxUnavailable: 1, template: aTemplate({ bootMs: 5_000 }) },
    live: async (stage) => {
      const { world, log } = stage;
      const chosen = Object.fromEntries(
        world
          .vmsOf(world.pool('web')!.metadata.uid)
          .map(({ metadata: { name } }) => [name, world.vmi(name)!.metadata.uid]),
      );
      log.person('drover vm restart --pool web');
      world.temporal.start('powerVms', 'power/model/1', [
        {
          action: 'Restart',
          chosen: { [NAMESPACE]: chosen },
          atOnce: 1,
          maxFailures: 0,
          deadlineMs: MINUTE,
          requestedBy: 'ann',
          reason: null,
        },
      ]);
      await roll(stage, { version: 2, bootMs: 5_000 });
      await completed(stage);
    },
  },
  'the pool is deleted': {
    about: '4 VMs, maxUnavailable 2',
    spec: { replicas: 4, maxUnavailable: 2, template: aTemplate({ bootMs: 5_000 }) },
    live: async (stage) => {
      const { world, log } = stage;
      await roll(stage, { version: 2, bootMs: 5_000 });
      await someDown(stage);
      log.person('delete the pool');
      await world.deletePool('web');
      await world.until(() => world.pool('web') === undefined, 5 * MINUTE);
    },
  },
  'the pool is deleted without its VMs': {
    about: '4 VMs, maxUnavailable 2',
    spec: { replicas: 4, maxUnavailable: 2, template: aTemplate({ bootMs: 5_000 }) },
    live: async (stage) => {
      const { world, log } = stage;
      await roll(stage, { version: 2, bootMs: 5_000 });
      await someDown(stage);
      log.person('delete the pool, --cascade=orphan');
      await world.deletePool('web', true);
      await world.until(() => world.pool('web') === undefined, 5 * MINUTE);
      await world.wait(20_000);
    },
  },
  'a worker dies as the rollout begins': workerAmid('4 VMs, maxUnavailable 2, 2 workers', 'kill', 100),
  'a worker dies while VMs restart': workerAmid('4 VMs, maxUnavailable 2, 2 workers', 'kill', 3_000),
  'a worker is frozen as the rollout begins': workerAmid('4 VMs, maxUnavailable 2, 2 workers', 'freeze', 100),
  'a worker is frozen while VMs restart': workerAmid('4 VMs, maxUnavailable 2, 2 workers', 'freeze', 3_000),
  'a worker is cut off as the rollout begins': workerAmid('4 VMs, maxUnavailable 2, 2 workers', 'cut off', 100),
  'a worker is cut off while VMs restart': workerAmid('4 VMs, maxUnavailable 2, 2 workers', 'cut off', 3_000),
};
