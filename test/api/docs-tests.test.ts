import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

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
