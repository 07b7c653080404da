import './world/real-code.ts';
import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { PoolStatus } from '../../api/pool/pool.ts';
import { watched } from './guarantees/watch.ts';
import { aSpec } from './pools.ts';
import { RolloutLog } from './rollout-log.ts';
import { stories as budget } from './rollouts/budget/stories.ts';
import { stories as canary } from './rollouts/canary/stories.ts';
import { stories as checks } from './rollouts/checks/stories.ts';
import { stories as failure } from './rollouts/failure/stories.ts';
import { stories as healing } from './rollouts/healing/stories.ts';
import { stories as liveUpdate } from './rollouts/live-update/stories.ts';
import { stories as people } from './rollouts/people/stories.ts';
import { stories as scale } from './rollouts/scale/stories.ts';
import type { Stories, Story } from './rollouts/story.ts';
import { stories as surge } from './rollouts/surge/stories.ts';
import { stories as twoChanges } from './rollouts/two-changes/stories.ts';
import { stories as updateStrategy } from './rollouts/update-strategy/stories.ts';
import { stories as windows } from './rollouts/windows/stories.ts';
import { lostAfter, type Ending } from './rollouts/worker-lost/between-steps.ts';
import { stories as workerLost } from './rollouts/worker-lost/stories.ts';
import { World } from './world/world.ts';

const ROLLOUTS = new URL('rollouts/', import.meta.url);
const MAX_FILES = 15;
const HOUR_MS = 3_600_000;

/** Each folder of `rollouts/` with what it tells. */
const FOLDERS: [string, Stories][] = [
  ['budget', budget],
  ['surge', surge],
  ['canary', canary],
  ['checks', checks],
  ['failure', failure],
  ['people', people],
  ['scale', scale],
  ['healing', healing],
  ['windows', windows],
  ['two-changes', twoChanges],
  ['update-strategy', updateStrategy],
  ['live-update', liveUpdate],
  ['worker-lost', workerLost],
];

/** Plays a story, and returns what happened from the moment in which its pool had come up. */
async function told({ spec, live, options }: Story, seed: number): Promise<string> {
  const world = new World({ seed, ...options });
  let text = '';
  const tell = async (): Promise<void> => {
    const pool = aSpec(spec);
    await world.people.createPool('web', pool);
    const status = (): PoolStatus | undefined => world.pool('web')?.status;
    expect(await world.until(() => status()?.readyReplicas === pool.replicas, 120_000)).toBe(true);
    await world.wait(10_000);
    const log = new RolloutLog(world, 'web');
    await live({ world, log });
    text = log.text;
  };
  await world.run(6 * HOUR_MS, watched(world, tell));
  return text;
}

const fileOf = (name: string): string => `${name.replaceAll(/\W+/g, '-')}.txt`;

describe.each(FOLDERS)('%s', (folder, stories) => {
  test.each(Object.entries(stories))('proceeds as its golden says: %s', async (name, story) => {
    const text = `${name}\n${story.about}\n\n${await told(story, 1)}`;
    await expect(text).toMatchFileSnapshot(`rollouts/${folder}/${fileOf(name)}`);
  });

  test('has a file for each story, no others, and not too many', () => {
    const files = readdirSync(new URL(folder, ROLLOUTS));
    expect(files.filter((file) => file.endsWith('.txt'))).toEqual(Object.keys(stories).map(fileOf).sort());
    expect(files.length).toBeLessThanOrEqual(MAX_FILES);
  });

  test.each(Object.entries(stories))('breaks no guarantee if steps take other times: %s', async (_name, story) => {
    await told(story, 2);
  });
});

/** Plays a rollout whose worker is lost after this step, and returns how the rollout has ended. */
async function endingOf(lostAt: number): Promise<Ending> {
  let ending: Ending | undefined;
  const story = lostAfter(
    (_step, count) => count === lostAt,
    (ended) => (ending = ended),
  );
  await told(story, 1);
  return ending!;
}

test('a rollout ends the same, within its budget, if its worker is lost between any two steps', async () => {
  const undisturbed = await endingOf(Infinity);
  expect(undisturbed.steps).toBeGreaterThan(20);
  for (let step = 1; step <= undisturbed.steps; step++) {
    const { vms } = await endingOf(step);
    expect(vms, `lost after step ${step}`).toEqual(undisturbed.vms);
  }
});
