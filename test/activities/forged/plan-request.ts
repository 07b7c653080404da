import { SHOP, type World } from './world.ts';

/** Has a workflow, by default the pool's own, ask for a plan of pool `web`, and returns what is written. */
export const planned = (world: World, change: object = {}): Promise<string[]> => {
  const request = {
    namespace: SHOP,
    name: 'web',
    minVersions: {},
    resultUnknown: false,
    backoffs: {},
    inProgress: { creating: [], deleting: [] },
    batches: [],
    batchesNotBefore: 0,
    turn: 1,
    now: Date.now(),
    ...change,
  };
  return world.written('plan', [request], 'pool/default/shop/web', true);
};
