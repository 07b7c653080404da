import { KubeError } from '../../../../kubernetes/errors.ts';
import { begin, ended, losesAnswer, losesWorker, MINUTE, signal, until, virtctl, type Stories } from '../story.ts';

export const stories: Stories = {
  'start two at a time': {
    about: '5 VMs that are stopped',
    lone: 5,
    areStopped: true,
    live: async (stage) => ended(stage, begin(stage, 'Start')),
  },
  'stop two at a time': {
    about: '5 VMs that run, paused for half a minute while two stop',
    lone: 5,
    live: async (stage) => {
      const id = begin(stage, 'Stop');
      await until(stage, 'not ready', 2);
      signal(stage, id, 'pause');
      await stage.world.wait(MINUTE / 2);
      signal(stage, id, 'resume');
      await ended(stage, id);
    },
  },
  'start while a person stops what was started': {
    about: '5 VMs that are stopped; the first that runs is stopped again',
    lone: 5,
    areStopped: true,
    live: async (stage) => {
      const id = begin(stage, 'Start');
      const [first] = await until(stage, 'ready', 1);
      await virtctl(stage, 'stop', first!);
      await ended(stage, id);
    },
  },
  'stop while a person starts what was stopped': {
    about: '5 VMs that run; the first that has stopped is started again',
    lone: 5,
    live: async (stage) => {
      const { world } = stage;
      const id = begin(stage, 'Stop');
      const stopped = (): string | undefined =>
        world.vms.map(({ metadata }) => metadata.name).find((name) => world.vmi(name) === undefined);
      await world.until(() => stopped() !== undefined, MINUTE);
      await virtctl(stage, 'start', stopped()!);
      await ended(stage, id);
    },
  },
  'start with a worker lost while a person stops what was started': {
    about: '5 VMs that are stopped, 1 worker; a VM that the run has started is stopped while no worker runs',
    lone: 5,
    areStopped: true,
    options: { workers: 1 },
    live: async (stage) => {
      const id = begin(stage, 'Start');
      const [first] = await until(stage, 'ready', 1);
      await losesWorker(stage, () => virtctl(stage, 'stop', first!));
      await ended(stage, id);
    },
  },
  'stop with a worker lost while a person starts what was stopped': {
    about: '5 VMs that run, 1 worker; a VM that the run has stopped is started while no worker runs',
    lone: 5,
    options: { workers: 1 },
    live: async (stage) => {
      const { world } = stage;
      const id = begin(stage, 'Stop');
      const [first] = await until(stage, 'not ready', 1);
      await losesWorker(stage, async () => {
        await world.until(() => world.vmi(first!) === undefined, MINUTE);
        await virtctl(stage, 'start', first!);
      });
      await ended(stage, id);
    },
  },
  'start whose answer is lost while a person stops what was started': {
    about: '3 VMs that are stopped, 1 worker, which is lost as the first is asked to start; a person stops that VM',
    lone: 3,
    areStopped: true,
    options: { workers: 1 },
    live: (stage) => losesAnswer(stage, 'Start', (name) => virtctl(stage, 'stop', name)),
  },
  'start whose answer is lost, of VMs that only people start': {
    about:
      '3 stopped VMs of the strategy Manual, 1 worker, lost as the first is asked to start; a person stops that VM',
    lone: 3,
    areStopped: 'Manual',
    options: { workers: 1 },
    live: (stage) => losesAnswer(stage, 'Start', (name) => virtctl(stage, 'stop', name)),
  },
  'stop whose answer is lost while a person starts what was stopped': {
    about: '3 VMs that run, 1 worker, which is lost as the first is asked to stop; a person starts that VM',
    lone: 3,
    options: { workers: 1 },
    live: (stage) => losesAnswer(stage, 'Stop', (name) => virtctl(stage, 'start', name)),
  },
  'stop while virt-api is down': {
    about: '3 VMs that run; virt-api is down for twice the deadline from when the run begins',
    lone: 3,
    live: async (stage) => {
      const { world, log } = stage;
      log.person('virt-api is down');
      world.refuse = ({ verb }) =>
        verb === 'request' ? new KubeError(503, 'ServiceUnavailable', 'no endpoints available for service') : null;
      const id = begin(stage, 'Stop');
      await world.wait(2 * MINUTE);
      log.person('virt-api is back');
      world.refuse = () => null;
      await ended(stage, id);
    },
  },
};
