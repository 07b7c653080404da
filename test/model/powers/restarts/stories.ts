import { VirtualMachines } from '../../../../api/resources.ts';
import { aTemplate } from '../../pools.ts';
import { NAMESPACE } from '../../world/names.ts';
import {
  begin,
  ended,
  losesWorker,
  MINUTE,
  signal,
  until,
  virtctl,
  vmsThatAre,
  type Stage,
  type Stories,
} from '../story.ts';

async function failsToStart({ world, log }: Stage, name: string): Promise<void> {
  log.person(`${name}: its next VMI fails to start`);
  const annotations = { 'sim.drover.dev/fail-starts': 'always' };
  const patch = { spec: { template: { metadata: { annotations } } } };
  await world.people.client.patch(VirtualMachines, { namespace: NAMESPACE, name }, 'merge', patch);
}

export const stories: Stories = {
  'restart two at a time': {
    about: '5 VMs',
    lone: 5,
    live: async (stage) => ended(stage, begin(stage, 'Restart')),
  },
  'restart within the budgets of two pools': {
    about: 'pools web of 4 and db of 3 VMs, at most 1 down in each, and 2 more VMs; 4 at a time',
    pools: { web: { replicas: 4, maxUnavailable: 1 }, db: { replicas: 3, maxUnavailable: 1 } },
    lone: 2,
    live: async (stage) => ended(stage, begin(stage, 'Restart', { atOnce: 4 })),
  },
  'restart beside a rollout': {
    about: 'pools web and db of 3 VMs, at most 1 down in each; db rolls out when the run begins',
    pools: { web: { replicas: 3, maxUnavailable: 1 }, db: { replicas: 3, maxUnavailable: 1 } },
    live: async (stage) => {
      stage.log.person('pool db gets another template');
      await stage.world.people.changePool('db', { template: aTemplate({ version: 2, bootMs: 5_000 }) });
      await until(stage, 'not ready', 1);
      await ended(stage, begin(stage, 'Restart'));
    },
  },
  'restart when a rollout begins': {
    about: 'pool web of 4 VMs, at most 2 down, which begins to roll out while the first restart',
    pools: { web: { replicas: 4, maxUnavailable: 2 } },
    live: async (stage) => {
      const id = begin(stage, 'Restart');
      await until(stage, 'not ready', 2);
      stage.log.person('pool web gets another template');
      await stage.world.people.changePool('web', { template: aTemplate({ version: 2, bootMs: 5_000 }) });
      await ended(stage, id);
    },
  },
  'restart paused and resumed': {
    about: '5 VMs, paused for a minute while two restart',
    lone: 5,
    live: async (stage) => {
      const id = begin(stage, 'Restart');
      await until(stage, 'not ready', 2);
      signal(stage, id, 'pause');
      await stage.world.wait(MINUTE);
      signal(stage, id, 'resume');
      await ended(stage, id);
    },
  },
  'restart aborted': {
    about: '5 VMs, aborted while two restart',
    lone: 5,
    live: async (stage) => {
      const id = begin(stage, 'Restart');
      await until(stage, 'not ready', 2);
      signal(stage, id, 'abort');
      await ended(stage, id);
    },
  },
  'restart ended by too many failures': {
    about: '5 VMs, of which none may fail, and all do',
    lone: 5,
    live: async (stage) => {
      for (const name of vmsThatAre(stage.world, true)) await failsToStart(stage, name);
      await ended(stage, begin(stage, 'Restart'));
    },
  },
  'restart with a failure that is allowed': {
    about: '5 VMs, of which one may fail, and does; it takes up room from then on',
    lone: 5,
    live: async (stage) => {
      await failsToStart(stage, 'lone-1');
      await ended(stage, begin(stage, 'Restart', { maxFailures: 1 }));
    },
  },
  'restart of a VM that is down already': {
    about: '4 VMs, one of which is never ready; its failure says nothing about restarts',
    lone: 3,
    live: async (stage) => {
      await stage.world.people.createVm('sick', { bootMs: 1_000, neverReady: true });
      await stage.world.wait(10_000);
      await ended(stage, begin(stage, 'Restart'));
    },
  },
  'restart while people act': {
    about: '7 VMs; people delete, stop and restart VMs before their turn, and delete and stop those whose turn it is',
    lone: 7,
    live: async (stage) => {
      const { world, log } = stage;
      const id = begin(stage, 'Restart');
      const [one, other] = await until(stage, 'not ready', 2);
      const [second, third, fourth] = vmsThatAre(world, true);
      log.person(`delete ${one} and ${second}`);
      await world.people.deleteMember('VirtualMachinePool', one!);
      await world.people.deleteMember('VirtualMachinePool', second!);
      await virtctl(stage, 'stop', other!);
      await virtctl(stage, 'stop', third!);
      await virtctl(stage, 'restart', fourth!);
      await ended(stage, id);
    },
  },
  'restart of VMs that must not be disrupted': {
    about: '4 VMs; one is paused for half a minute, and one is never to be disrupted',
    lone: 4,
    live: async (stage) => {
      const { world, log } = stage;
      await world.people.optOut('lone-1');
      log.person('lone-1 is not to be disrupted, lone-2 is paused');
      await world.people.pauseVmi('lone-2', true);
      await world.wait(1_000);
      const id = begin(stage, 'Restart');
      await world.wait(30_000);
      log.person('lone-2 goes on');
      await world.people.pauseVmi('lone-2', false);
      await ended(stage, id);
    },
  },
  'restart resumed though nobody has paused it': {
    about: '3 VMs, one of which is paused for half a minute; meanwhile somebody asks the run to go on',
    lone: 3,
    live: async (stage) => {
      const { world, log } = stage;
      log.person('lone-2 is paused');
      await world.people.pauseVmi('lone-2', true);
      await world.wait(1_000);
      const id = begin(stage, 'Restart');
      await world.wait(20_000);
      signal(stage, id, 'resume');
      await world.wait(10_000);
      log.person('lone-2 goes on');
      await world.people.pauseVmi('lone-2', false);
      await ended(stage, id);
    },
  },
  'restart of a VM that can not be touched for long': {
    about: '3 VMs, one of which is paused; the run leaves it when it has waited for it',
    lone: 3,
    live: async (stage) => {
      stage.log.person('lone-2 is paused');
      await stage.world.people.pauseVmi('lone-2', true);
      await stage.world.wait(1_000);
      await ended(stage, begin(stage, 'Restart'));
    },
  },
  'restart with a worker lost in the middle': {
    about: '5 VMs, 1 worker, which is lost while two restart; another one starts 15 s later',
    lone: 5,
    options: { workers: 1 },
    live: async (stage) => {
      const id = begin(stage, 'Restart');
      await until(stage, 'not ready', 2);
      await losesWorker(stage);
      await ended(stage, id);
    },
  },
};
