import type { PoolSpec } from '../../../api/pool/pool.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import type { Transition, TransitionProgress, TransitionScope } from '../../../decisions/machine-types/transition.ts';
import { scopeOf } from '../../decisions/machine-types/snapshots.ts';
import { isReady } from '../facts.ts';
import { steer } from '../play/operate.ts';
import { aSpec, aTemplate } from '../pools.ts';
import type { TransitionLog } from '../transition-log.ts';
import { NAMESPACE } from '../world/names.ts';
import type { World, WorldOptions } from '../world/world.ts';

const OLD = 'pc-q35-rhel8.6.0';
const NEW = 'pc-q35-rhel9.4.0';
const MINUTE = 60_000;

interface Stage {
  world: World;
  log: TransitionLog;
}

/** Machine type transitions that are played and written down. */
export interface Story {
  /** The VMs, in words. */
  about: string;
  /** Pools of VMs of an old type, and how many VMs there are that no pool has. */
  pools?: Record<string, Partial<PoolSpec>>;
  lone?: number;
  live: (stage: Stage) => Promise<void>;
  options?: Partial<WorldOptions>;
}

const SCOPE = scopeOf({ glob: '*rhel8*' });

/** Begins the transition with this number, perhaps to undo another run. Returns its workflow's id. */
function begin(
  { world, log }: Stage,
  { scope, ...how }: Partial<Omit<Transition, 'scope'>> & { scope?: Partial<TransitionScope> } = {},
  number = 1,
  undone?: string,
): string {
  log.person(`transition ${number} ${JSON.stringify({ ...how, ...scope })}`);
  const { run } = world.people.startTransition({
    scope: { ...SCOPE, ...scope, undoes: undone === undefined ? null : operationOf(undone) },
    to: NEW,
    restartNow: true,
    maxRestarts: 1,
    maxFailures: 0,
    deadlineMs: 5 * MINUTE,
    windows: [],
    force: false,
    requestedBy: 'ann',
    reason: null,
    ...how,
  });
  return run;
}

/** UID of the operation of a run. */
const operationOf = (run: string): string => run.split('/').at(-1)!;

async function ended({ world, log }: Stage, id: string): Promise<void> {
  await world.wait(100);
  const run = world.temporal.runs.get(id)!;
  if (!(await world.until(() => !world.temporal.runs.get(id)!.isOpen, 60 * MINUTE)))
    return world.break(`transition ${run.id} does not end`);
  await world.wait(2_000);
  log.end((await world.temporal.runs.get(id)!.result.promise) as TransitionProgress);
}

function signal({ world, log }: Stage, id: string, name: 'pause' | 'resume' | 'abort'): void {
  log.person(name);
  steer(world, id, name);
}

/** Waits until so many VMs have a VMI that is ready and of the new type. */
const changed = (world: World, count: number): Promise<boolean> =>
  world.until(() => world.vms.filter(({ metadata: { name } }) => isNew(world, name)).length >= count, 10 * MINUTE);

const isNew = (world: World, name: string): boolean =>
  isReady(world.vmi(name)) && world.vmi(name)?.status?.machine?.type === NEW;

const someDown = (world: World): Promise<boolean> =>
  world.until(() => world.vms.some(({ metadata: { name } }) => !isReady(world.vmi(name))), MINUTE);

async function edit({ world, log }: Stage, name: string, words: string, template: object): Promise<void> {
  log.person(`${name}: ${words}`);
  const key = { namespace: NAMESPACE, name };
  await world.people.client.patch(VirtualMachines, key, 'merge', { spec: { template } });
}

const failsToStart = (stage: Stage, name: string): Promise<void> =>
  edit(stage, name, 'its next VMI fails to start', {
    metadata: { annotations: { 'sim.drover.dev/fail-starts': 'always' } },
  });

export const stories: Record<string, Story> = {
  'restarts within a limit and a window': {
    about: '5 VMs, 2 restarts at a time, in a window that opens after 5 minutes',
    lone: 5,
    live: async (stage) => {
      const windows = [{ cron: '5 0 * * *', duration: '30m', timeZone: 'UTC' }];
      await ended(stage, begin(stage, { maxRestarts: 2, windows }));
    },
  },
  'a limit in percent': {
    about: '6 VMs, half of them at a time',
    lone: 6,
    live: async (stage) => ended(stage, begin(stage, { maxRestarts: '50%' })),
  },
  'pools and VMs that no pool has': {
    about: 'pool web of 3 and pool db of 2 VMs, whose templates get the new type before it begins, and 2 more VMs',
    pools: { web: { replicas: 3, maxUnavailable: 1 }, db: { replicas: 2, maxUnavailable: 2 } },
    lone: 2,
    live: async (stage) => {
      stage.log.person('pools web and db get templates of the new type');
      for (const pool of ['web', 'db'])
        await stage.world.people.changePool(pool, { template: aTemplate({ bootMs: 5_000, machineType: NEW }) });
      await ended(stage, begin(stage));
    },
  },
  'VMs whose types their pool leaves to them': {
    about: 'pool web of 4 VMs, at most 1 down, whose template has no type; 3 restarts at a time',
    pools: { web: { replicas: 4, maxUnavailable: 1, template: aTemplate({ bootMs: 5_000 }) } },
    live: async (stage) => ended(stage, begin(stage, { scope: { glob: 'q35' }, maxRestarts: 3 })),
  },
  'a rollout of one of the pools at once': {
    about:
      'pools web and db of 3 VMs, at most 1 down; db rolls out the new type when the transition begins, web keeps the old',
    pools: { web: { replicas: 3, maxUnavailable: 1 }, db: { replicas: 3, maxUnavailable: 1 } },
    lone: 1,
    live: async (stage) => {
      stage.log.person('pool db gets a template of the new type');
      await stage.world.people.changePool('db', { template: aTemplate({ version: 2, machineType: NEW }) });
      await someDown(stage.world);
      await ended(stage, begin(stage));
    },
  },
  'paused and resumed': {
    about: '4 VMs, paused for two minutes when the first is back',
    lone: 4,
    live: async (stage) => {
      const id = begin(stage);
      await changed(stage.world, 1);
      signal(stage, id, 'pause');
      await stage.world.wait(2 * MINUTE);
      signal(stage, id, 'resume');
      await ended(stage, id);
    },
  },
  aborted: {
    about: '4 VMs, 2 at a time, aborted while two are down',
    lone: 4,
    live: async (stage) => {
      const id = begin(stage, { maxRestarts: 2 });
      await someDown(stage.world);
      signal(stage, id, 'abort');
      await ended(stage, id);
    },
  },
  'ended by too many failures': {
    about: '4 VMs, 1 at a time, of which none may fail, and all do',
    lone: 4,
    live: async (stage) => {
      for (const { metadata } of stage.world.vms) await failsToStart(stage, metadata.name);
      await ended(stage, begin(stage));
    },
  },
  'a failure of those that are allowed': {
    about: '4 VMs, 1 at a time, of which one may fail, and does',
    lone: 4,
    live: async (stage) => {
      await failsToStart(stage, 'lone-1');
      await ended(stage, begin(stage, { maxFailures: 1, maxRestarts: 2 }));
    },
  },
  undone: {
    about: 'pool web of 2 VMs, whose template has the old type, and 2 more; one of these got a third type since',
    pools: { web: { replicas: 2, maxUnavailable: 1 } },
    lone: 2,
    live: async (stage) => {
      const first = begin(stage);
      await ended(stage, first);
      await edit(stage, 'lone-2', 'another type', { spec: { domain: { machine: { type: 'pc-q35-rhel9.2.0' } } } });
      await ended(stage, begin(stage, { to: null, scope: { glob: '*' } }, 2, first));
    },
  },
  'a worker lost in the middle': {
    about: '4 VMs, 2 at a time, 1 worker, which is lost while two are down; another one starts 15 s later',
    lone: 4,
    options: { workers: 1 },
    live: async (stage) => {
      const { world, log } = stage;
      const id = begin(stage, { maxRestarts: 2 });
      await someDown(world);
      log.person('the worker is lost');
      world.kill(world.workers[0]!);
      await world.wait(15_000);
      log.person('another worker starts');
      await world.addWorker();
      await ended(stage, id);
    },
  },
  'the old type is set again by a person': {
    about: '3 VMs, 1 at a time; the last is given the old type again when the first is back',
    lone: 3,
    live: async (stage) => {
      const id = begin(stage);
      await changed(stage.world, 1);
      const { name } = stage.world.vms.map(({ metadata }) => metadata).findLast((vm) => !isNew(stage.world, vm.name))!;
      await edit(stage, name, 'the old type again', { spec: { domain: { machine: { type: OLD } } } });
      await ended(stage, id);
    },
  },
  'owners restart their VMs': {
    about: '3 VMs, which their owners restart, one a minute',
    lone: 3,
    live: async (stage) => {
      const id = begin(stage, { restartNow: false });
      for (const { metadata } of stage.world.vms) {
        await stage.world.wait(MINUTE);
        stage.log.person(`virtctl restart ${metadata.name}`);
        await stage.world.people.power(metadata.name, 'restart');
      }
      await ended(stage, id);
    },
  },
  'VMs that must not be disrupted': {
    about: '4 VMs, 2 at a time; one is paused for five minutes, and one is never to be disrupted',
    lone: 4,
    live: async (stage) => {
      const { world, log } = stage;
      await world.people.optOut('lone-1');
      log.person('lone-2 is paused');
      await world.people.pauseVmi('lone-2', true);
      await world.wait(1_000);
      const id = begin(stage, { maxRestarts: 2 });
      await world.wait(5 * MINUTE);
      log.person('lone-2 goes on');
      await world.people.pauseVmi('lone-2', false);
      await ended(stage, id);
    },
  },
};

/** The installation in which a story begins: all its VMs run, and have an old type. */
export async function prepare(world: World, { pools = {}, lone = 0 }: Story): Promise<void> {
  const template = aTemplate({ bootMs: 5_000, machineType: OLD });
  for (const [name, spec] of Object.entries(pools)) await world.people.createPool(name, aSpec({ template, ...spec }));
  for (let number = 1; number <= lone; number++) await world.people.createVm(`lone-${number}`, { machineType: OLD });
  const count = lone + Object.values(pools).reduce((sum, { replicas = 1 }) => sum + replicas, 0);
  const areReady = (): boolean =>
    world.vms.filter(({ metadata: { name } }) => isReady(world.vmi(name))).length === count;
  if (!(await world.until(areReady, 5 * MINUTE))) world.break('the VMs do not come up');
  await world.wait(2_000);
}
