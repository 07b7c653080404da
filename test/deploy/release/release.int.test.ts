import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { release } from '../../../deploy/release/release.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { folderOf } from '../../replay/histories.ts';

const PROJECT = resolve(import.meta.dirname, '../../..');
const { version } = packageJson;
const folder = mkdtempSync(join(tmpdir(), 'drover-release-test-'));
const clone = join(folder, 'clone');
const remote = join(folder, 'remote');

const git = (...args: string[]): string => execFileSync('git', ['-C', clone, ...args], { encoding: 'utf8' }).trim();

/** Releases the clone; returns what was said of it. */
function releaseClone(options: { isDryRun?: boolean; ci?: string; out?: string } = {}): string[] {
  const said: string[] = [];
  release({
    version,
    project: clone,
    out: join(folder, options.out ?? 'out'),
    isDryRun: options.isDryRun ?? false,
    ci: options.ci ?? 'true',
    day: '2027-01-02',
    env: {},
    say: (line) => said.push(line),
  });
  return said;
}

/** Has git keep this change in the clone while it is tried, and takes it back. */
function having(change: () => void, then: () => void): void {
  const before = git('rev-parse', 'HEAD');
  change();
  try {
    then();
  } finally {
    git('reset', '--quiet', '--hard', before);
    git('clean', '--quiet', '-d', '--force');
  }
}

beforeAll(() => {
  for (const who of ['AUTHOR', 'COMMITTER']) {
    vi.stubEnv(`GIT_${who}_NAME`, 'a test');
    vi.stubEnv(`GIT_${who}_EMAIL`, 'test@drover.example');
  }
  // Tags of earlier releases are none of this one's.
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', '--no-tags', PROJECT, clone]);
  execFileSync('git', ['clone', '--quiet', '--bare', clone, remote]);
  git('remote', 'set-url', 'origin', remote);
  git('checkout', '--quiet', '-B', 'release');
  symlinkSync(join(PROJECT, 'node_modules'), join(clone, 'node_modules'));
  writeFileSync(join(clone, '.git/info/exclude'), 'node_modules\n');
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

test('a tree that is not fit to be released is refused, with a sentence, before anything is made', () => {
  expect(() => releaseClone({ ci: 'false' })).toThrow('CI is red');
  having(
    () => writeFileSync(join(clone, 'new.txt'), ''),
    () => expect(() => releaseClone()).toThrow('the tree is not clean'),
  );
  having(
    () => {
      writeFileSync(join(clone, 'CHANGELOG.md'), '# Changelog\n\n## Unreleased\n');
      git('commit', '--quiet', '--all', '--message', 'Empty the changelog');
    },
    () => expect(() => releaseClone()).toThrow('CHANGELOG.md has nothing under Unreleased'),
  );
  having(
    () => {
      git('rm', '--quiet', '-r', `test/replay/histories/${version}`);
      git('commit', '--quiet', '--message', 'Remove histories');
    },
    () => expect(() => releaseClone()).toThrow(`there are no histories of ${version}`),
  );
  expect(existsSync(join(folder, 'out'))).toBe(false);
});

test('a dry run makes everything, and leaves the repository as it is', () => {
  const said = releaseClone({ isDryRun: true, out: 'dry' });
  expect(said).toContain('the tag: skipped: not set in a dry run');
  expect(git('tag', '--list')).toBe('');
  expect(git('status', '--porcelain')).toBe('');
  const sums = readFileSync(join(folder, 'dry/SHA256SUMS'), 'utf8');
  for (const file of [`drover-${version}.tgz`, `drover-${version}.cdx.json`, 'NOTICES.md'])
    expect(sums).toContain(file);
});

test('a release is tagged and pushed, its changelog has a section, and its histories can be changed no more', () => {
  const said = releaseClone();
  expect(said).toContain(`the tag: v${version} is pushed`);
  for (const line of said.filter((one) => one.includes('skipped'))) expect(line).toMatch(/: skipped: \w+.* \w+/);
  expect(execFileSync('git', ['-C', remote, 'tag', '--list'], { encoding: 'utf8' }).trim()).toBe(`v${version}`);
  expect(readFileSync(join(clone, 'CHANGELOG.md'), 'utf8')).toContain(`## Unreleased\n\n## ${version} - 2027-01-02`);

  const check = () =>
    spawnSync(join(clone, 'node_modules/.bin/vitest'), ['run', '--project', 'unit', 'test/replay/released.test.ts'], {
      cwd: clone,
      env: { ...process.env, NO_COLOR: '1' },
    }).status;
  expect(check()).toBe(0);
  const histories = `test/replay/histories/${version}`;
  const file = join(clone, histories, 'pool.jsonl.gz');
  having(
    () => appendFileSync(file, 'x'),
    () => expect(check()).toBe(1),
  );
  having(
    () => rmSync(file),
    () => expect(check()).toBe(1),
  );
  having(
    () => writeFileSync(join(clone, 'test/replay/released.json'), '{}\n'),
    () => expect(check()).toBe(1),
  );
  having(
    () => writeFileSync(join(clone, 'test/replay/released.json'), JSON.stringify({ [version]: {} })),
    () => expect(check()).toBe(1),
  );
  expect(() => releaseClone({ out: 'again' })).toThrow(`the tag v${version} is there already`);
  expect(existsSync(folderOf(version))).toBe(true);
});
