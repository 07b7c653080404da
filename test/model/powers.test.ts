import './world/real-code.ts';
import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { watched } from './guarantees/watch.ts';
import { PowerLog } from './power-log.ts';
import { stories as migrations } from './powers/migrations/stories.ts';
import { stories as patches } from './powers/patches/stories.ts';
import { stories as restarts } from './powers/restarts/stories.ts';
import { stories as startsAndStops } from './powers/starts-and-stops/stories.ts';
import { prepare, type Story } from './powers/story.ts';
import { World } from './world/world.ts';

const HOUR_MS = 3_600_000;

/** By the folders under `powers/` in which what happens is written down. */
const FOLDERS = { migrations, patches, restarts, 'starts-and-stops': startsAndStops };

/** Plays a story, and returns what happened from the moment in which its VMs were as it begins. */
async function told(story: Story, seed: number): Promise<string> {
  const world = new World({ seed, ...story.options });
  let text = '';
  const tell = async (): Promise<void> => {
    await prepare(world, story);
    const log = new PowerLog(world);
    await story.live({ world, log });
    text = log.text;
  };
  await world.run(6 * HOUR_MS, watched(world, tell));
  return text;
}

const fileOf = (name: string): string => `${name.replaceAll(/\W+/g, '-')}.txt`;

describe.each(Object.entries(FOLDERS))('%s', (folder, stories) => {
  test.each(Object.entries(stories))('a run proceeds as its golden says: %s', async (name, story) => {
    const text = `${name}\n${story.about}\n\n${await told(story, 1)}`;
    await expect(text).toMatchFileSnapshot(`powers/${folder}/${fileOf(name)}`);
  });

  test('each story has a file, and there are no others', () => {
    const files = readdirSync(new URL(`powers/${folder}/`, import.meta.url)).filter((file) => file.endsWith('.txt'));
    expect(files).toEqual(Object.keys(stories).map(fileOf).sort());
  });

  test.each(Object.entries(stories))(
    'a run breaks no guarantee if steps take other times: %s',
    async (_name, story) => {
      await told(story, 2);
    },
  );
});
