import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { changelogVersions } from './changelog.ts';
import { releasedIn } from './freeze.ts';
import { Refused, run } from './run.ts';

/** Images, charts and packages are named like this in these files. */
const NAMED = 'drover[:-][0-9]+\\.[0-9]+\\.[0-9]+(-[a-z]+\\.[0-9]+)?';
const FILES = ['README.md', 'docs', 'deploy', 'docker-compose.yml'];

/** Returns what the files of a clone say of its version: a place and a version each. */
function* statedIn(project: string): Generator<[string, string | undefined]> {
  const read = (file: string): string => readFileSync(join(project, file), 'utf8');
  const { version: ofPackage } = JSON.parse(read('package.json')) as { version: string };
  yield ['package.json', ofPackage];
  yield ['package-lock.json', (JSON.parse(read('package-lock.json')) as { version: string }).version];
  const { version, appVersion } = parse(read('deploy/Chart.yaml')) as { version: string; appVersion: string };
  yield* [version, appVersion].map((one) => ['deploy/Chart.yaml', one] as [string, string]);
  const named = run(project, 'git', 'grep', '--only-matching', '-E', NAMED, '--', ...FILES);
  for (const line of named.trim().split('\n')) yield line.split(/:drover[:-]/) as [string, string];
}

/**
 * Throws `Refused` if a file of the clone states another version. `isReleased`: the newest section of the changelog and
 * the newest histories must be of this version as well.
 */
export function refuseMixed(project: string, version: string, isReleased: boolean): void {
  const stated = [...statedIn(project)];
  if (isReleased)
    stated.push(
      ['CHANGELOG.md', changelogVersions(readFileSync(join(project, 'CHANGELOG.md'), 'utf8'))[0]],
      ['test/replay/released.json', Object.keys(releasedIn(project)).at(-1)],
    );
  const others = stated.filter(([, one]) => one !== version).map(([file, one]) => `${file} says ${one ?? 'none'}`);
  if (others.length > 0)
    throw new Refused(`${version} is not the version everywhere: ${[...new Set(others)].join(', ')}`);
}
