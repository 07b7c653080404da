import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { release } from '../../../deploy/release/release.ts';
import { defaultCache } from '../../../dev/paths.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { folderOf } from '../../replay/histories.ts';
import { resolveGoTool } from '../../tools/go-tools.ts';

const PROJECT = resolve(import.meta.dirname, '../../..');
const { version } = packageJson;
const folder = mkdtempSync(join(tmpdir(), 'drover-release-test-'));
const clone = join(folder, 'clone');
const remote = join(folder, 'remote');
const programs = join(folder, 'programs');
const pushes = join(folder, 'pushes');
const DIGEST = `sha256:${'a'.repeat(64)}`;
const IMAGE = 'images.example/drover';

/** A docker that builds and pushes nothing, and notes with each push which tags are public by then. */
const DOCKER = `#!/bin/sh
case $1 in
  push) echo "$2: $(git -C ${remote} tag --list)" >> ${pushes} ;;
  inspect) echo ${IMAGE}@${DIGEST} ;;
esac
`;

const git = (...args: string[]): string => execFileSync('git', ['-C', clone, ...args], { encoding: 'utf8' }).trim();

/** Releases the clone; returns what was said of it. */
function releaseClone(options: { isDryRun?: boolean; ci?: string; out?: string; image?: string } = {}): string[] {
  const said: string[] = [];
  release({
    version,
    project: clone,
    out: join(folder, options.out ?? 'out'),
    isDryRun: options.isDryRun ?? false,
    ci: options.ci ?? 'true',
    image: options.image,
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

const filesIn = (archive: string): string[] =>
  execFileSync('tar', ['-tzf', join(folder, archive)], { encoding: 'utf8' })
    .trim()
    .split('\n');
const read = (archive: string, file: string): string =>
  execFileSync('tar', ['-xzOf', join(folder, archive), file], { encoding: 'utf8' });

/** Expects what was made in this folder to be what its names say; returns the values of the chart. */
function contentIn(out: string): { image: object } {
  const [npm, chart] = [`${out}/npm/drover-${version}.tgz`, `${out}/charts/drover-${version}.tgz`];
  expect(JSON.parse(read(npm, 'package/package.json'))).toMatchObject({ name: 'drover', version });
  expect(filesIn(npm)).toContain('package/drover.mjs');
  expect(parse(read(chart, 'drover/Chart.yaml'))).toMatchObject({ name: 'drover', version });
  expect(filesIn(chart)).toContain('drover/templates/worker.yaml');
  expect(filesIn(chart).filter((file) => /\.ts$|drover\/(crds|release)\//.test(file))).toEqual([]);
  const sums = readFileSync(join(folder, out, 'SHA256SUMS'), 'utf8')
    .trim()
    .split('\n');
  const made = Object.fromEntries(sums.map((line) => line.split('  ').toReversed() as [string, string]));
  expect(Object.keys(made)).toEqual(
    expect.arrayContaining([npm, chart].map((file) => file.slice(out.length + 1)).concat('NOTICES.md')),
  );
  expect(made).toHaveProperty([`drover-${version}.cdx.json`]);
  for (const [file, sum] of Object.entries(made))
    expect(
      createHash('sha256')
        .update(readFileSync(join(folder, out, file)))
        .digest('hex'),
    ).toBe(sum);
  return parse(read(chart, 'drover/values.yaml')) as { image: object };
}

beforeAll(async () => {
  mkdirSync(programs);
  symlinkSync(await resolveGoTool('helm', { cache: defaultCache(), onProgress: () => {} }), join(programs, 'helm'));
  writeFileSync(join(programs, 'docker'), DOCKER, { mode: 0o755 });
  vi.stubEnv('PATH', `${programs}:${process.env['PATH']}`);
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
  expect(contentIn('dry').image).toMatchObject({ repository: 'drover', digest: '' });
  expect(existsSync(pushes)).toBe(false);
});

test('nothing is published of a commit that can no longer be tagged in public', () => {
  const other = join(folder, 'other');
  execFileSync('git', ['clone', '--quiet', '--branch', 'release', clone, other]);
  const push = (...args: string[]): unknown => execFileSync('git', ['-C', other, 'push', '--quiet', remote, ...args]);
  execFileSync('git', ['-C', other, 'commit', '--quiet', '--allow-empty', '--message', 'Move on']);
  push('HEAD:release');
  const before = git('rev-parse', 'HEAD');
  expect(() => releaseClone({ out: 'late', image: IMAGE })).toThrow('git push');
  expect(existsSync(pushes)).toBe(false);
  expect([git('rev-parse', 'HEAD'), git('tag', '--list')]).toEqual([before, '']);
  push('--delete', 'release');
});

test('a release is tagged and pushed, its changelog has a section, and its histories can be changed no more', () => {
  const said = releaseClone({ image: IMAGE });
  expect(readFileSync(pushes, 'utf8')).toBe(`${IMAGE}:${version}: v${version}\n`);
  expect(contentIn('out').image).toMatchObject({ repository: IMAGE, digest: DIGEST });
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
