import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const textOf = (file: string): string => readFileSync(`${import.meta.dirname}/${file}`, 'utf8');

/** Without that, modules that other files have loaded would not be replaced, and those that are would stay so. */
test('files that replace modules have modules of their own', () => {
  const files = globSync('**/*.ts', { cwd: import.meta.dirname });
  const replacing = files.filter((file) => /^vi\.mock\(/m.test(textOf(file)));
  expect(replacing).not.toEqual([]);
  expect(replacing.filter((file) => !/^import '[./]+\/own-modules\.ts';/.test(textOf(file)))).toEqual([]);
});
