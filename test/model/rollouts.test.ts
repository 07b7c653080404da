import './world/real-code.ts';
import { describe, expect, test } from 'vitest';
import type { PoolStatus } from '../../api/pool/pool.ts';
import { Guarantees } from './guarantees.ts';
import { aSpec } from './pools.ts';
import { RolloutLog } from './rollout-log.ts';
import { stories, type Story } from './rollout-stories.ts';
import { World } from './world/world.ts';

const HOUR_MS = 3_600_000;

/** Plays a story, and returns what happened from the moment in which its pool had come up. */
async function told({ spec, live, options }: Story, seed: number): Promise<string> {
  const world = new World({ seed, ...options });
  const guarantees = new Guarantees(world);
  let text = '';
  const tell = async (): Promise<void> => {
    const pool = aSpec(spec);
    await world.createPool('web', pool);
    const status = (): PoolStatus | undefined => world.pool('web')?.['status'] as PoolStatus | undefined;
    expect(await world.until(() => status()?.readyReplicas === pool.replicas, 120_000)).toBe(true);
    await world.wait(10_000);
    const log = new RolloutLog(world, 'web');
    await live({ world, log });
    text = log.text;
  };
  await world.run(6 * HOUR_MS, () => guarantees.during(tell));
  return text;
}

describe('a rollout goes as it is written down', () => {
  test.each(Object.entries(stories))('%s', async (name, story) => {
    const heading = `${name}\n${story.about}\n\n`;
    await expect(heading + (await told(story, 1))).toMatchFileSnapshot(`rollouts/${name.replaceAll(/\W+/g, '-')}.txt`);
  });

  test.each(Object.entries(stories))(
    '%s, and no guarantee is broken if things take other times',
    async (_name, story) => {
      for (const seed of [2, 3]) await told(story, seed);
    },
  );
});
