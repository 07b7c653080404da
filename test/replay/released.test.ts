import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { changelogVersions } from '../../deploy/release/changelog.ts';
import { digestsOf, releasedIn, type Digests } from '../../deploy/release/freeze.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { versions } from './histories.ts';

const project = resolve(import.meta.dirname, '../..');
const released = releasedIn(project);

test('the histories of a released version are those that it was released with', () => {
  const now = Object.fromEntries(Object.keys(released).map((version) => [version, digestsOf(project, version)]));
  expect(now).toEqual(released);
});

test('the versions that the changelog tells of are those that are released', () => {
  expect(changelogVersions(readFileSync(join(project, 'CHANGELOG.md'), 'utf8')).toReversed()).toEqual(
    Object.keys(released),
  );
});

test('there are histories of released versions, and of the one that comes next', () => {
  expect([...Object.keys(released), packageJson.version]).toEqual(expect.arrayContaining(versions()));
});

const git = (...args: string[]): string => spawnSync('git', args, { cwd: project, encoding: 'utf8' }).stdout ?? '';

// A clone may lack tags: then the test before holds what can be held.
test('the histories that a tag was released with are unchanged', () => {
  for (const tag of git('tag', '--list', 'v*').split('\n').filter(Boolean)) {
    const then = JSON.parse(git('show', `${tag}:test/replay/released.json`)) as Record<string, Digests>;
    expect(then).toHaveProperty([tag.slice(1)]);
    expect(released).toMatchObject(then);
  }
});
