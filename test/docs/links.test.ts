import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

const PROJECT = join(import.meta.dirname, '../..');

const filesLike = (...patterns: string[]): string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns], { cwd: PROJECT })
    .toString()
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(PROJECT, file)));
const textOf = (file: string): string => readFileSync(join(PROJECT, file), 'utf8');
const proseOf = (file: string): string => textOf(file).replaceAll(/^ *```[^]*?^ *```$/gm, '');

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(file: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of proseOf(file).matchAll(/^#+ +(.*)$/gm)) {
    const shown = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim()
      .toLowerCase();
    const anchor = shown.replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-');
    let count = 0;
    while (anchors.has(count === 0 ? anchor : `${anchor}-${count}`)) count++;
    anchors.add(count === 0 ? anchor : `${anchor}-${count}`);
  }
  return anchors;
}

/** Returns what is wrong with a link in a file: undefined if it leads somewhere. */
function faultOf(file: string, link: string): string | undefined {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? file : normalize(join(dirname(file), path));
  if (!existsSync(join(PROJECT, target))) return `${file}: there is no ${target}`;
  const isLost = anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor);
  return isLost ? `${file}: there is no heading ${anchor} in ${target}` : undefined;
}

test('each link in a page leads to a file, and to a heading in it', () => {
  // GitHub shows the templates below pages of its own, which their links lead from.
  const pages = filesLike('*.md').filter((file) => !file.startsWith('.github/'));
  const faults = pages.flatMap((file) =>
    [
      ...proseOf(file)
        .replaceAll(/`[^`\n]*`/g, '')
        .matchAll(/\]\(([^)\s]+)\)|src="([^"]+)"/g),
    ]
      .map(([, link, image]) => link ?? image!)
      .filter((link) => !/^[a-z]+:/.test(link))
      .map((link) => faultOf(file, link)),
  );
  expect(faults.filter(Boolean)).toEqual([]);
});

test('each page of the docs that code, manifests and the changelog name is there, with its heading', () => {
  const files = filesLike('*.ts', '*.yaml', '*.json', 'CHANGELOG.md').filter((file) => !file.startsWith('test/'));
  const faults = files.flatMap((file) =>
    [...textOf(file).matchAll(/\bdocs\/[\w/-]+\.md(#[\w-]+)?/g)].map(([page]) => {
      const fault = faultOf('README.md', page);
      return fault && `${file}: ${fault}`;
    }),
  );
  expect(faults.filter(Boolean)).toEqual([]);
});
