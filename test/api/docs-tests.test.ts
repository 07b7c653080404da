import { globSync, readFileSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { expect, test } from 'vitest';
import { ONLY_IN_ALL } from '../only-in-all.ts';

const ROOT = new URL('../../', import.meta.url);
const FILE = '`[\\w./-]+\\.test\\.ts`';
const SOURCE = `(?:${FILE}|\\b[A-Z])`;
/** `P is `a.test.ts`, A `b.test.ts` and `c.test.ts``: what a letter stands for from there on. */
const LEGEND = new RegExp(`\\b([A-Z])(?: is| stands for| for)?\\s+(${FILE}(?:\\s+and\\s+${FILE})*)`, 'g');
/** `P: "a title …", "another"`. */
const REFERENCE = new RegExp(`(${SOURCE}): ((?:"[^"]+"(?:, )?)+)`, 'g');
/** The titles of tests and of groups of tests: of `each`, and as keys of an object of tests, as well. */
const TITLE =
  /(?:\b(?:test|it|describe|soakTest)(?:\.\w+)*\(|\)\(|\n(?=\s*['"`][^\n]*['"`]:\s+(?:async\b|\(\) =>)))\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1(?:,|:\s+(?:async|\(\) =>))\s/g;

const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');
const titlesIn = (file: string): string[] =>
  [...read(file).matchAll(TITLE)].map(([, , title]) => title!.replaceAll('\\', ''));
const filesIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, file]) => file!);

/** Returns what a page says of tests that there are not: each with the files in which it should be. */
function missingTests(page: string): string[] {
  const letters = new Map<string, string[]>();
  const missing: string[] = [];
  const marks = [...page.matchAll(LEGEND), ...page.matchAll(REFERENCE)].sort((a, b) => a.index - b.index);
  for (const [whole, source, said] of marks) {
    if (!whole.includes(': "')) {
      letters.set(source!, filesIn(said!));
      continue;
    }
    const files = letters.get(source!) ?? filesIn(source!);
    const titles = files.flatMap((file) => titlesIn(`test/${file}`));
    for (const [, words] of said!.matchAll(/"([^"]+)"/g))
      if (!titles.some((title) => isMeantBy(words!, title))) missing.push(`${files.join(', ') || source}: ${words}`);
  }
  return missing;
}

const escaped = (words: string): string => words.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** Whether words in which `…` stands for others are this title. */
const isMeantBy = (words: string, title: string): boolean =>
  new RegExp(
    `^${words
      .split('…')
      .map((part) => escaped(part.trim()))
      .join('.*')}$`,
    's',
  ).test(title);

test.each(['docs/replica-sets.md', 'docs/guarantees.md'])('the table of %s names existing tests', (file) => {
  const page = read(file);
  expect([...page.matchAll(REFERENCE)].length).toBeGreaterThan(20);
  expect(missingTests(page)).toEqual([]);
});

const runsOnlyInAll = (file: string): boolean => ONLY_IN_ALL.some((glob) => matchesGlob(`test/${file}`, glob));

/** The rows of the table of guarantees, and the test files that each names. */
const rows = [...read('docs/guarantees.md').matchAll(/^\| (G\d+) \| (.*)$/gm)].map(([, id, said]) => ({
  id: id!,
  isPlayed: said!.startsWith('R'),
  files: [...said!.matchAll(/`([\w./-]+\.test\.ts)`(\*?)/g)].map(([, file, mark]) => ({ file: file!, mark })),
}));

test('each guarantee keeps a test in `npm test`', () => {
  expect(rows.length).toBeGreaterThan(40);
  const without = rows.filter(({ isPlayed, files }) => !isPlayed && files.every(({ file }) => runsOnlyInAll(file)));
  expect(without.map(({ id }) => id)).toEqual([]);
});

const onServers = ({ file }: { file: string }): boolean => file.endsWith('.int.test.ts');

test('each guarantee that has tests on servers keeps one of them in `npm test`', () => {
  const without = rows.filter(({ files }) => {
    const theirs = files.filter(onServers);
    return theirs.length > 0 && theirs.every(({ file }) => runsOnlyInAll(file));
  });
  expect(without.map(({ id }) => id)).toEqual([]);
});

test('the table of guarantees marks the files that only `npm run test:all` runs', () => {
  const wrong = rows.flatMap(({ id, files }) =>
    files.filter(({ file, mark }) => (mark === '*') !== runsOnlyInAll(file)).map(({ file }) => `${id}: ${file}`),
  );
  expect(wrong).toEqual([]);
});

test('each glob of test/only-in-all.ts fits a file', () => {
  const unused = ONLY_IN_ALL.filter((glob) => globSync(glob, { cwd: ROOT }).length === 0);
  expect(unused).toEqual([]);
});
