const UNRELEASED = /^## Unreleased$/m;
const VERSION = /^## (\d+\.\d+\.\d+\S*)/gm;

/** Returns the versions that the changelog has a section of, the newest first. */
export const changelogVersions = (changelog: string): string[] =>
  [...changelog.matchAll(VERSION)].map(([, one]) => one!);

/** Returns what the changelog says under Unreleased. */
export function unreleasedIn(changelog: string): string {
  const [, after = ''] = changelog.split(UNRELEASED);
  return (/^[\s\S]*?(?=^## )/m.exec(after)?.[0] ?? after).trim();
}

/** Returns the changelog with what is unreleased under this version. `day`: as YYYY-MM-DD. */
export const withSection = (changelog: string, version: string, day: string): string =>
  changelog.replace(UNRELEASED, `## Unreleased\n\n## ${version} - ${day}`);
