import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import * as artefacts from './artefacts.ts';
import type { ArtefactOptions, Outcome } from './artefacts.ts';
import { unreleasedIn, withSection } from './changelog.ts';
import { digestsOf, freeze, releasedIn } from './freeze.ts';
import { Refused, run, succeeds } from './run.ts';

interface ReleaseOptions {
  version: string;
  /** The repository that is released; its branch gets the commit and the tag before anything is published. */
  project: string;
  /** New folder for what is made. */
  out: string;
  /** Does all but what others see: no tag, no push, nothing is published. */
  isDryRun: boolean;
  /** Program that tells by its exit code whether the commit is good. */
  ci: string;
  image?: string | undefined;
  /** YYYY-MM-DD. */
  day: string;
  env: NodeJS.ProcessEnv;
  say: (line: string) => void;
}

/**
 * Releases the commit that is checked out: its histories are frozen, its changelog gets a section, it is tagged, and
 * packages, bill of materials and licences are made, all of it in a clone. If that went well, the tag is pushed, and
 * only then is anything published: what others can get has a tag. Throws `Refused`.
 */
export function release(options: ReleaseOptions): void {
  const { version, project, out, isDryRun, ci, image, day, env, say } = options;
  refuseUnfit(project, version);
  say('the tree is clean, and the changelog and the histories are there');
  if (!succeeds(project, ci)) throw new Refused(`CI is red: ${ci} failed, and says why if it is run alone`);
  say(`CI: ${ci} is green`);
  mkdirSync(out, { recursive: true });
  const source = mkdtempSync(join(tmpdir(), 'drover-release-'));
  try {
    run(project, 'git', 'clone', '--quiet', '--no-hardlinks', '.', source);
    symlinkSync(join(project, 'node_modules'), join(source, 'node_modules'));
    commit({ source, version, day, say });
    const making = { version, source, out: resolve(out), isDryRun, image, env };
    for (const [title, step] of Object.entries(MAKE)) say(`${title}: ${asText(step(making))}`);
    say(`the tag: ${asText(isDryRun ? { skipped: 'not set in a dry run' } : adopt(project, source, version))}`);
    for (const [title, step] of Object.entries(PUBLISH)) say(`${title}: ${asText(step(making))}`);
  } finally {
    rmSync(source, { recursive: true, force: true });
  }
}

type Steps = Record<string, (making: ArtefactOptions) => Outcome>;

const MAKE: Steps = { 'npm package': artefacts.npmPackage, SBOM: artefacts.sbom, image: artefacts.image };
const PUBLISH: Steps = {
  'image registry': artefacts.imageRegistry,
  chart: artefacts.chart,
  checksums: artefacts.checksums,
  signatures: artefacts.signatures,
  'npm registry': artefacts.npmRegistry,
};

const asText = (outcome: Outcome): string => (typeof outcome === 'string' ? outcome : `skipped: ${outcome.skipped}`);

function refuseUnfit(project: string, version: string): void {
  const { version: stated } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { version: string };
  if (version !== stated) throw new Refused(`package.json says ${stated}, not ${version}: set the version there first`);
  if (run(project, 'git', 'status', '--porcelain') !== '')
    throw new Refused('the tree is not clean: commit what is to be released, and remove the rest');
  if (succeeds(project, 'git', 'rev-parse', '--verify', '--quiet', `refs/tags/v${version}`))
    throw new Refused(`the tag v${version} is there already: set another version in package.json`);
  if (unreleasedIn(readFileSync(join(project, 'CHANGELOG.md'), 'utf8')) === '')
    throw new Refused('CHANGELOG.md has nothing under Unreleased: say there what users get');
  if (version in releasedIn(project)) throw new Refused(`test/replay/released.json says that ${version} is released`);
  if (Object.keys(digestsOf(project, version)).length === 0)
    throw new Refused(
      `there are no histories of ${version}: record them with npx node test/replay/record.ts ${version}`,
    );
}

/** Freezes the histories, gives the changelog its section, and commits and tags both in the clone. */
function commit({
  source,
  version,
  day,
  say,
}: Pick<ReleaseOptions, 'version' | 'day' | 'say'> & { source: string }): void {
  freeze(source, version);
  say(`histories: ${Object.keys(digestsOf(source, version)).length} files of ${version} are frozen`);
  const changelog = join(source, 'CHANGELOG.md');
  writeFileSync(changelog, withSection(readFileSync(changelog, 'utf8'), version, day));
  say(`changelog: section ${version} of ${day}`);
  run(
    source,
    'git',
    'commit',
    '--quiet',
    '--message',
    `Release ${version}`,
    'CHANGELOG.md',
    'test/replay/released.json',
  );
  const hasKey = succeeds(source, 'git', 'config', 'user.signingkey');
  run(source, 'git', 'tag', hasKey ? '--sign' : '--annotate', '--message', `drover ${version}`, `v${version}`);
  if (!hasKey) say('signature of the tag: skipped: git knows no user.signingkey');
}

/** Pushes the commit and the tag if the repository has a remote, and takes them over once that has succeeded. */
function adopt(project: string, source: string, version: string): Outcome {
  const tag = `refs/tags/v${version}`;
  const hasRemote = succeeds(project, 'git', 'remote', 'get-url', 'origin');
  if (hasRemote) {
    const branch = run(project, 'git', 'symbolic-ref', 'HEAD').trim();
    const idOf = (of: string): string => run(source, 'git', 'rev-parse', of).trim();
    run(project, 'git', 'fetch', '--quiet', '--no-tags', source, tag);
    run(project, 'git', 'push', '--quiet', '--atomic', 'origin', `${idOf('HEAD')}:${branch}`, `${idOf(tag)}:${tag}`);
  }
  run(project, 'git', 'pull', '--quiet', '--ff-only', source, 'HEAD');
  run(project, 'git', 'fetch', '--quiet', source, `${tag}:${tag}`);
  return hasRemote ? `v${version} is pushed` : `tagged v${version}, but did not push it: no remote named origin`;
}

if (import.meta.main) {
  const project = resolve(import.meta.dirname, '../..');
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'dry-run': { type: 'boolean', default: false },
      out: { type: 'string' },
      ci: { type: 'string', default: join(project, '.ci/run') },
      image: { type: 'string' },
    },
  });
  const [version] = positionals;
  const out = values.out ?? join(project, 'dist', version ?? '');
  try {
    if (version === undefined)
      throw new Refused('say what to release: node deploy/release/release.ts 0.1.0 [--dry-run]');
    if (existsSync(out)) throw new Refused(`${out} is there already: remove it, or give another folder with --out`);
    release({
      version,
      project,
      out,
      isDryRun: values['dry-run'],
      ci: values.ci,
      image: values.image,
      day: new Date().toISOString().slice(0, 10),
      env: process.env,
      say: (line) => void process.stdout.write(`${line}\n`),
    });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    process.stderr.write(`not released: ${error.message}\n`);
    process.exitCode = 1;
  }
}
