import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files by name, and the SHA-256 of each. */
export type Digests = Record<string, string>;

const historiesIn = (project: string, version: string): string => join(project, 'test/replay/histories', version);
const fileIn = (project: string): string => join(project, 'test/replay/released.json');

/** Returns the recorded histories of each released version, which never change, by their digests. */
export const releasedIn = (project: string): Record<string, Digests> =>
  JSON.parse(readFileSync(fileIn(project), 'utf8')) as Record<string, Digests>;

/** Returns the digests of the histories that are there of a version; none if nothing was recorded. */
export function digestsOf(project: string, version: string): Digests {
  const folder = historiesIn(project, version);
  const files = existsSync(folder) ? readdirSync(folder).toSorted() : [];
  const digest = (file: string): string =>
    createHash('sha256')
      .update(readFileSync(join(folder, file)))
      .digest('hex');
  return Object.fromEntries(files.map((file) => [file, digest(file)]));
}

/** Notes the histories of a version as released: from now on, a test refuses every change of them. */
export function freeze(project: string, version: string): void {
  const all = { ...releasedIn(project), [version]: digestsOf(project, version) };
  writeFileSync(fileIn(project), `${JSON.stringify(all, null, 2)}\n`);
}
