import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { unreleasedIn, withSection } from './changelog.ts';
import { inClone } from './clone.ts';
import { digestsOf, freeze, releasedIn } from './freeze.ts';
import { refuseMixed } from './mixed-versions.ts';
import { orRefuse, Refused, run, succeeds } from './run.ts';

interface ReleaseOptions {
  version: string;
  /** The repository that is released: its branch gets the commit and the tag. */
  project: string;
  /** Does all but what others see: no tag, no push. */
  isDryRun: boolean;
  /** Program that tells by its exit code whether the commit is good. */
  ci: string;
  /** YYYY-MM-DD. */
  day: string;
  say: (line: string) => void;
}

/**
 * Tags the commit that is checked out as a release: its histories are frozen, its changelog gets a section, and both
 * are tagged in a clone. If that went well, the commit and the tag are pushed together. What others get is made from
 * the tag, by `publish`. Throws `Refused`.
 */
export function release({ version, project, isDryRun, ci, day, say }: ReleaseOptions): void {
  refuseUnfit(project, version);
  say('the tree is clean, and the changelog and the histories are there');
  if (!succeeds(project, ci)) throw new Refused(`CI is red: ${ci} failed, and says why if it is run alone`);
  say(`CI: ${ci} is green`);
  inClone(project, (source) => {
    // Who commits, and the key of signatures, may be set for this repository alone.
    const settings = join(
      run(project, 'git', 'rev-parse', '--path-format=absolute', '--git-common-dir').trim(),
      'config',
    );
    run(source, 'git', 'config', 'include.path', settings);
    commit(source, version, day, say);
    refuseMixed(source, version, true);
    say(`the tag: ${isDryRun ? 'skipped: not set in a dry run' : adopt(project, source, version)}`);
  });
}

const hasOrigin = (project: string): boolean => succeeds(project, 'git', 'remote', 'get-url', 'origin');

function refuseUnfit(project: string, version: string): void {
  refuseMixed(project, version, false);
  if (run(project, 'git', 'status', '--porcelain') !== '')
    throw new Refused('the tree is not clean: commit what is to be released, and remove the rest');
  if (!succeeds(project, 'git', 'symbolic-ref', '--quiet', 'HEAD'))
    throw new Refused('no branch is checked out, which the commit of the release could go to: check one out');
  if (!succeeds(project, 'git', 'var', 'GIT_COMMITTER_IDENT'))
    throw new Refused('git does not know who commits: set user.name and user.email with `git config`');
  const tag = `refs/tags/v${version}`;
  const isTagged = succeeds(project, 'git', 'rev-parse', '--verify', '--quiet', tag);
  if (isTagged || (hasOrigin(project) && run(project, 'git', 'ls-remote', 'origin', tag) !== ''))
    throw new Refused(
      `the tag v${version} is there already${isTagged ? '' : ', at origin'}: set another version in package.json`,
    );
  if (unreleasedIn(readFileSync(join(project, 'CHANGELOG.md'), 'utf8')) === '')
    throw new Refused('CHANGELOG.md has nothing under Unreleased: say there what users get');
  if (version in releasedIn(project)) throw new Refused(`test/replay/released.json says that ${version} is released`);
  if (Object.keys(digestsOf(project, version)).length === 0)
    throw new Refused(
      `there are no histories of ${version}: record them with npx node test/replay/record.ts ${version}`,
    );
}

/** Freezes the histories, gives the changelog its section, and commits and tags both in the clone. */
function commit(source: string, version: string, day: string, say: ReleaseOptions['say']): void {
  freeze(source, version);
  say(`histories: ${Object.keys(digestsOf(source, version)).length} files of ${version} are frozen`);
  const changelog = join(source, 'CHANGELOG.md');
  writeFileSync(changelog, withSection(readFileSync(changelog, 'utf8'), version, day));
  say(`changelog: section ${version} of ${day}`);
  const changed = ['CHANGELOG.md', 'test/replay/released.json'];
  run(source, 'git', 'commit', '--quiet', '--message', `Release ${version}`, ...changed);
  const hasKey = succeeds(source, 'git', 'config', 'user.signingkey');
  run(source, 'git', 'tag', hasKey ? '--sign' : '--annotate', '--message', `drover ${version}`, `v${version}`);
  if (!hasKey) say('signature of the tag: skipped: git knows no user.signingkey');
}

/** Pushes the commit and the tag if the repository has a remote, and takes them over once that has succeeded. */
function adopt(project: string, source: string, version: string): string {
  const tag = `refs/tags/v${version}`;
  const isPushed = hasOrigin(project);
  if (isPushed) {
    const branch = run(project, 'git', 'symbolic-ref', 'HEAD').trim();
    const idOf = (of: string): string => run(source, 'git', 'rev-parse', of).trim();
    run(project, 'git', 'fetch', '--quiet', '--no-tags', source, tag);
    run(project, 'git', 'push', '--quiet', '--atomic', 'origin', `${idOf('HEAD')}:${branch}`, `${idOf(tag)}:${tag}`);
  }
  run(project, 'git', 'pull', '--quiet', '--ff-only', source, 'HEAD');
  run(project, 'git', 'fetch', '--quiet', source, `${tag}:${tag}`);
  return isPushed ? `v${version} is pushed` : `tagged v${version}, but did not push it: no remote named origin`;
}

if (import.meta.main)
  orRefuse(() => {
    const project = resolve(import.meta.dirname, '../..');
    const options = {
      'dry-run': { type: 'boolean', default: false },
      ci: { type: 'string', default: join(project, '.ci/run') },
    } as const;
    const { values, positionals } = parseArgs({ allowPositionals: true, options });
    const [version] = positionals;
    if (version === undefined)
      throw new Refused('say what to release: node deploy/release/release.ts 0.1.0 [--dry-run]');
    release({
      version,
      project,
      isDryRun: values['dry-run'],
      ci: values.ci,
      day: new Date().toISOString().slice(0, 10),
      say: (line) => void process.stdout.write(`${line}\n`),
    });
  });
