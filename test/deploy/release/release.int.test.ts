import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { publish } from '../../../deploy/release/publish.ts';
import { defaultCache } from '../../../dev/paths.ts';
import { folderOf } from '../../replay/histories.ts';
import { resolveGoTool } from '../../tools/go-tools.ts';
import { ReleasedClone, version } from './released-clone.ts';

const IMAGE = 'images.example/drover';
let clone: ReleasedClone;

/** Makes what would be published, or publishes it; returns the folder. */
function publishClone(options: { version?: string; isDryRun?: boolean; out?: string; charts?: string } = {}): string {
  const out = clone.in(options.out ?? 'out');
  const usual = { version, project: clone.path, isDryRun: false, image: IMAGE, charts: 'oci://images.example/charts' };
  publish({ ...usual, ...options, out, say: () => {} });
  return out;
}

const commit = (file: string, text: string | null): void => {
  const path = join(clone.path, file);
  if (text === null) rmSync(path, { recursive: true });
  else writeFileSync(path, text);
  clone.git('commit', '--quiet', '--all', '--message', 'Change it');
};
const nothing = (): void => {};
const textOf = (file: string): string => readFileSync(join(clone.path, file), 'utf8');
const left = (): string[] => readdirSync(tmpdir()).filter((name) => /^drover-(release|artefacts)-(?!test)/.test(name));

beforeAll(async () => {
  // The user who runs this is not the one who releases.
  vi.stubEnv('GIT_CONFIG_GLOBAL', '/dev/null');
  clone = new ReleasedClone();
  // What others leave there is not looked at.
  mkdirSync(clone.in('tmp'));
  vi.stubEnv('TMPDIR', clone.in('tmp'));
  const programs = clone.in('programs');
  mkdirSync(programs);
  symlinkSync(await resolveGoTool('helm', { cache: defaultCache(), onProgress: () => {} }), join(programs, 'helm'));
  vi.stubEnv('PATH', `${programs}:${process.env['PATH']}`);
});
afterAll(() => {
  vi.unstubAllEnvs();
  clone?.remove();
});

test('a tree that is not fit to be released is refused, with a sentence, before anything is done', () => {
  const refuses = (why: string, change: () => void, options: { version?: string; ci?: string } = {}): void =>
    clone.having(change, () => expect(() => clone.release(options)).toThrow(why));
  refuses('CI is red', nothing, { ci: 'false' });
  refuses('9.9.9 is not the version everywhere: package.json says', nothing, { version: '9.9.9' });
  refuses('the tree is not clean', () => writeFileSync(join(clone.path, 'new.txt'), ''));
  refuses('CHANGELOG.md has nothing under Unreleased', () => commit('CHANGELOG.md', '# Changelog\n\n## Unreleased\n'));
  refuses(`there are no histories of ${version}`, () => commit(`test/replay/histories/${version}`, null));
  refuses(`${version} is not the version everywhere: deploy/worker.yaml says 0.0.7`, () =>
    commit('deploy/worker.yaml', textOf('deploy/worker.yaml').replaceAll(`drover:${version}`, 'drover:0.0.7')),
  );
  refuses('deploy/Chart.yaml says 0.0.8', () =>
    commit('deploy/Chart.yaml', textOf('deploy/Chart.yaml').replace(`appVersion: ${version}`, 'appVersion: 0.0.8')),
  );
  refuses('git does not know who commits', () => {
    clone.git('config', '--unset', 'user.email');
    clone.git('config', 'user.useConfigOnly', 'true');
  });
  clone.git('config', 'user.email', 'test@drover.example');
  clone.git('checkout', '--quiet', '--detach');
  refuses('no branch is checked out', nothing);
  clone.git('checkout', '--quiet', 'release');
  execFileSync('git', ['-C', clone.remote, 'tag', `v${version}`]);
  refuses(`the tag v${version} is there already, at origin`, nothing);
  execFileSync('git', ['-C', clone.remote, 'tag', '--delete', `v${version}`]);
  expect([clone.git('tag', '--list'), left()]).toEqual(['', []]);
});

test.each([
  ['release', [], 'say what to release: node deploy/release/release.ts 0.1.0 [--dry-run]'],
  ['release', ['--now'], "Unknown option '--now'"],
  ['publish', [], 'say what to publish: node deploy/release/publish.ts 0.1.0 --image NAME --charts oci://…'],
  ['publish', ['9.9.9'], 'there is no tag v9.9.9: set it with node deploy/release/release.ts 9.9.9'],
])('%s %j is answered with one line', (command, args, why) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [`deploy/release/${command}.ts`, ...args], {
    cwd: clone.path,
    encoding: 'utf8',
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: '',
    stderr: expect.stringMatching(/^not released: .*\n$/),
  });
  expect(stderr).toContain(why);
});

test('a dry run leaves the repository as it is', () => {
  expect(clone.release({ isDryRun: true })).toContain('the tag: skipped: not set in a dry run');
  expect([clone.git('tag', '--list'), clone.git('status', '--porcelain')]).toEqual(['', '']);
});

test('a commit that can no longer be tagged in public is not tagged here', () => {
  const other = clone.in('other');
  execFileSync('git', ['clone', '--quiet', '--branch', 'release', clone.path, other]);
  const push = (...args: string[]): unknown =>
    execFileSync('git', ['-C', other, 'push', '--quiet', clone.remote, ...args]);
  const who = ['-c', 'user.name=another', '-c', 'user.email=another@drover.example'];
  execFileSync('git', ['-C', other, ...who, 'commit', '--quiet', '--allow-empty', '--message', 'Move on']);
  push('HEAD:release');
  const before = clone.git('rev-parse', 'HEAD');
  expect(() => clone.release()).toThrow('git push');
  expect([clone.git('rev-parse', 'HEAD'), clone.git('tag', '--list')]).toEqual([before, '']);
  push('--delete', 'release');
});

test('a release is tagged and pushed, its changelog has a section, and its histories can be changed no more', () => {
  expect(clone.release()).toContain(`the tag: v${version} is pushed`);
  expect(clone.git('cat-file', '-t', `v${version}`)).toBe('tag');
  expect(clone.git('log', '-1', '--format=%cn <%ce>')).toBe('a test <test@drover.example>');
  expect(execFileSync('git', ['-C', clone.remote, 'tag', '--list'], { encoding: 'utf8' }).trim()).toBe(`v${version}`);
  expect(textOf('CHANGELOG.md')).toContain(`## Unreleased\n\n## ${version} - 2027-01-02`);

  const check = () =>
    spawnSync(
      join(clone.path, 'node_modules/.bin/vitest'),
      ['run', '--project', 'unit', 'test/replay/released.test.ts'],
      { cwd: clone.path, env: { ...process.env, NO_COLOR: '1' } },
    ).status;
  expect(check()).toBe(0);
  const file = join(clone.path, `test/replay/histories/${version}`, 'pool.jsonl.gz');
  const record = join(clone.path, 'test/replay/released.json');
  const changes = [
    () => appendFileSync(file, 'x'),
    () => rmSync(file),
    () => writeFileSync(record, '{}\n'),
    () => writeFileSync(record, JSON.stringify({ [version]: {} })),
  ];
  for (const change of changes) clone.having(change, () => expect(check()).toBe(1));
  expect(() => clone.release()).toThrow(`the tag v${version} is there already: set another version`);
  expect(existsSync(folderOf(version))).toBe(true);
});

test('what is not the tag is not published, nor is it without all that others must get it by', () => {
  clone.having(
    () => clone.git('commit', '--quiet', '--allow-empty', '--message', 'Move on'),
    () => expect(() => publishClone()).toThrow(`another commit is checked out: git checkout v${version} && npm ci`),
  );
  clone.having(
    () => writeFileSync(join(clone.path, 'new.txt'), ''),
    () => expect(() => publishClone()).toThrow(`the tree is not that of v${version}`),
  );
  execFileSync('git', ['-C', clone.remote, 'tag', '--force', `v${version}`, 'HEAD'], { stdio: 'ignore' });
  expect(() => publishClone()).toThrow(`origin has another tag v${version}`);
  execFileSync('git', ['-C', clone.remote, 'tag', '--delete', `v${version}`]);
  expect(() => publishClone()).toThrow(`origin lacks the tag v${version}`);
  clone.git('push', '--quiet', 'origin', `v${version}`);
  vi.stubEnv('COSIGN_KEY', undefined);
  vi.stubEnv('ACTIONS_ID_TOKEN_REQUEST_URL', undefined);
  expect(() => publishClone({ charts: 'images.example' })).toThrow(/^--charts is where .*; COSIGN_KEY names no key/);
  expect([existsSync(clone.in('out')), left()]).toEqual([false, []]);
});

test('a dry run makes of the tag what is published: package, chart, manifest for krew, bill of materials, checksums', () => {
  // As actions/checkout leaves it, which loses what a tag says of itself.
  clone.git('tag', '--force', `v${version}`, 'HEAD');
  const out = publishClone({ isDryRun: true });
  const read = (archive: string, file: string): string =>
    execFileSync('tar', ['-xzOf', join(out, archive), file], { encoding: 'utf8' });
  const [npm, chart] = [`drover-npm-${version}.tgz`, `drover-${version}.tgz`];
  expect(JSON.parse(read(npm, 'package/package.json'))).toMatchObject({ name: 'drover', version });
  expect(read(npm, 'package/drover.mjs')).toMatch(/^#!/);
  expect(read(npm, 'package/CHANGELOG.md')).toContain(`## ${version} - 2027-01-02`);
  expect(parse(read(chart, 'drover/Chart.yaml'))).toMatchObject({ name: 'drover', version });
  expect(parse(read(chart, 'drover/values.yaml'))).toMatchObject({ image: { repository: IMAGE, digest: '' } });
  const files = execFileSync('tar', ['-tzf', join(out, chart)], { encoding: 'utf8' })
    .trim()
    .split('\n');
  expect(files.filter((file) => /\.ts$|drover\/(crds|release)\//.test(file))).toEqual([]);
  expect(readdirSync(out).toSorted()).toEqual(
    [npm, chart, 'NOTICES.md', 'SHA256SUMS', `drover-${version}.cdx.json`, 'drover.yaml'].toSorted(),
  );
  const sums = readdirSync(out)
    .filter((file) => file !== 'SHA256SUMS')
    .map((file) =>
      [
        createHash('sha256')
          .update(readFileSync(join(out, file)))
          .digest('hex'),
        file,
      ].join('  '),
    );
  expect(readFileSync(join(out, 'SHA256SUMS'), 'utf8').trim().split('\n')).toEqual(sums.toSorted());
  expect(() => publishClone({ isDryRun: true })).toThrow('is there already: remove it, or give another folder');
});
