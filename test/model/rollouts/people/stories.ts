import { amid, ask, change, completed, MINUTE, roll, signal, type Stories } from '../story.ts';

export const stories: Stories = {
  'paused and resumed': amid('5 VMs, maxUnavailable 2, paused for a minute', async (stage) => {
    await ask(stage, 'pause', { reason: 'lunch' });
    await stage.world.wait(MINUTE);
    await ask(stage, 'resume');
  }),
  'paused and resumed by signals': amid('5 VMs, maxUnavailable 2, paused for a minute', async (stage) => {
    signal(stage, 'pause', { reason: 'lunch' });
    await stage.world.wait(MINUTE);
    signal(stage, 'resume');
  }),
  'the pool is paused in its spec': amid('5 VMs, maxUnavailable 2, spec.paused for a minute', async (stage) => {
    await change(stage, { paused: true });
    await stage.world.wait(MINUTE);
    await change(stage, { paused: false });
  }),
  'aborted and resumed': amid('5 VMs, maxUnavailable 2, aborted and resumed a minute later', async (stage) => {
    await ask(stage, 'abort');
    await stage.world.wait(MINUTE);
    await ask(stage, 'resume');
  }),
  'a person deletes a VM of the batch': amid('5 VMs, maxUnavailable 2', async ({ world, log }, down) => {
    log.person(`delete ${down}`);
    await world.people.deleteVm(down);
  }),
  'a person deletes another VM': amid('5 VMs, maxUnavailable 2', async ({ world, log }) => {
    log.person('delete web-5');
    await world.people.deleteVm('web-5');
  }),
  'a person stops a VM': {
    about: '4 VMs, maxUnavailable 1; web-4 is stopped before its turn, and started later',
    spec: { replicas: 4, maxUnavailable: 1 },
    live: async (stage) => {
      const { world, log } = stage;
      await roll(stage, { version: 2 });
      log.person('stop web-4');
      await world.people.power('web-4', 'stop');
      await world.wait(MINUTE);
      log.person('start web-4');
      await world.people.power('web-4', 'start');
      await completed(stage);
    },
  },
  'a person takes a VM out': amid('5 VMs, maxUnavailable 2', async ({ world, log }, down) => {
    log.person(`take ${down} out of the pool`);
    await world.people.detach(down);
  }),
  'a VM opts out': {
    about: '3 VMs, maxUnavailable 1; web-2 is not to be disrupted',
    spec: { replicas: 3, maxUnavailable: 1 },
    live: async (stage) => {
      const { world, log } = stage;
      log.person('web-2 is not to be disrupted');
      await world.people.optOut('web-2');
      await roll(stage, { version: 2 });
      await world.wait(MINUTE);
    },
  },
};
