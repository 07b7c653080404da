import './world/real-code.ts';
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { watched } from './guarantees/watch.ts';
import { TransitionLog } from './transition-log.ts';
import { prepare, stories, type Story } from './transitions/stories.ts';
import { World } from './world/world.ts';

const HOUR_MS = 3_600_000;

/** Plays a story, and returns what happened from the moment in which its VMs had come up. */
async function told(story: Story, seed: number): Promise<string> {
  const world = new World({ seed, ...story.options });
  let text = '';
  const tell = async (): Promise<void> => {
    await prepare(world, story);
    const log = new TransitionLog(world);
    await story.live({ world, log });
    text = log.text;
  };
  await world.run(6 * HOUR_MS, watched(world, tell));
  return text;
}

const fileOf = (name: string): string => `${name.replaceAll(/\W+/g, '-')}.txt`;

test.each(Object.entries(stories))('a transition proceeds as its golden says: %s', async (name, story) => {
  const text = `${name}\n${story.about}\n\n${await told(story, 1)}`;
  await expect(text).toMatchFileSnapshot(`transitions/${fileOf(name)}`);
});

test('each story has a file, and there are no others', () => {
  const files = readdirSync(new URL('transitions/', import.meta.url)).filter((file) => file.endsWith('.txt'));
  expect(files).toEqual(Object.keys(stories).map(fileOf).sort());
});

test.each(Object.entries(stories))(
  'a transition breaks no guarantee if steps take other times: %s',
  async (_name, story) => {
    await told(story, 2);
  },
);
