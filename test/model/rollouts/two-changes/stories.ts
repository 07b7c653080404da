import { amid, roll, type Stories } from '../story.ts';

export const stories: Stories = {
  'two changes in a row': amid('5 VMs, maxUnavailable 2; C follows B at once', async (stage) => {
    await roll(stage, { version: 3, bootMs: 5_000 });
  }),
  'changed back': amid('5 VMs, maxUnavailable 2; A follows B at once', async (stage) => {
    await roll(stage, { version: 1, bootMs: 5_000 });
  }),
};
