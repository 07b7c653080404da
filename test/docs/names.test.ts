import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { droverProgram } from '../../clients/program.ts';

const PROJECT = join(import.meta.dirname, '../..');
const PRODUCT = [
  'api',
  'activities',
  'clients',
  'decisions',
  'deploy',
  'examples',
  'kubernetes',
  'workers',
  'workflows',
];

const filesLike = (...patterns: string[]): string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns], { cwd: PROJECT })
    .toString()
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(PROJECT, file)));
const textOf = (file: string): string => readFileSync(join(PROJECT, file), 'utf8');
const matches = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([all, part]) => part ?? all);

/** The code that a page shows, a piece each: a name of drover's stands nowhere else. */
const codeIn = (text: string): string[] => [
  ...matches(text, /^ *```[a-z]*\n([^]*?)^ *```$/gm).flatMap((block) => block.split('\n')),
  ...matches(text.replaceAll(/^ *```[^]*?^ *```$/gm, ''), /`([^`]+)`/g).map((code) => code.replaceAll(/\s+/g, ' ')),
];

/** What stands between quotes, outside of comments: messages among it. */
function stringsIn(source: string): string[] {
  const text = source.replaceAll(/^ *(\/?\*|\/\/).*$/gm, '');
  return [
    ...matches(text, /'((?:[^'\\\n]|\\.)*)'/g),
    ...matches(text, /"((?:[^"\\\n]|\\.)*)"/g),
    ...matches(text, /`((?:[^`\\]|\\.)*)`/g),
  ].map((string) => string.replaceAll(/\$\{[^}]*\}/g, 'NAME').replaceAll('\\`', '`'));
}

interface Piece {
  file: string;
  code: string;
}
const piecesOf = (files: string[], pieces: (text: string) => string[]): Piece[] =>
  files.flatMap((file) => pieces(textOf(file)).map((code) => ({ file, code })));

const pages = filesLike('*.md').filter(
  (file) => !/^(\.github|simulator|test)\/|^docs\/(reference|decisions)\//.test(file),
);
const inPages = piecesOf(pages, codeIn);
const inMessages = piecesOf(filesLike(...PRODUCT.map((folder) => `${folder}/**/*.ts`)), stringsIn);
const inExamples = piecesOf(filesLike('clients/commands/**/*.ts', 'clients/commands/*.ts'), (text) =>
  matches(text, /'(drover [^'\n]*)'\s*,?\s*\]/g),
);
const inManifests = piecesOf(filesLike(...PRODUCT.map((folder) => `${folder}/**/*.yaml`)), (text) => text.split('\n'));

const fields = filesLike('docs/reference/*.md').flatMap((file) =>
  matches(textOf(file), /^\| `([^`]+)`/gm).map((path) => path.replaceAll(/\[\]|\{\}/g, '')),
);
/** Of Kubernetes' and KubeVirt's own kinds. */
const FOREIGN = [
  /^spec\.configuration\./,
  /^spec\.nodeName$/,
  /^status\.(activePods|evacuationNodeName)$/,
  /^status\.conditions\.exists$/,
];

/** The schemas leave open what stands below a template, or a map. */
const isField = (path: string): boolean =>
  FOREIGN.some((pattern) => pattern.test(path)) ||
  fields.some(
    (field) =>
      field === path || field.startsWith(`${path}.`) || (field.endsWith('emplate') && path.startsWith(`${field}.`)),
  );

test('each field of drover that a page or a message names is in a schema', () => {
  const PATH = /(?<![\w.$/-])(?:spec|status)(?:\.[A-Za-z]\w*(?:\[[^\]]*\]|\{\})?)+(?!\.?[\w/])/g;
  const lost = [...inPages, ...inMessages.filter(({ code }) => code.includes(' '))].flatMap(({ file, code }) =>
    matches(code, PATH)
      .map((path) => path.replaceAll(/\[[^\]]*\]|\{\}/g, ''))
      .filter((path) => !path.includes('NAME') && !isField(path))
      .map((path) => `${file}: ${path}`),
  );
  expect([...new Set(lost)]).toEqual([]);
});

const program = droverProgram();

/** Returns what is wrong with a command line, which may have alternatives such as `pause|resume`. */
function faultOf(line: string): string | null {
  const words = line.trim().split(/\s+/);
  const chain: Command[] = [program];
  for (const word of words) {
    const names = word.split('|');
    const { commands } = chain.at(-1)!;
    const found = names.map((name) => commands.find((one) => one.name() === name || one.aliases().includes(name)));
    if (commands.length === 0 || !names.every((name) => /^[a-z][a-z-]*$/.test(name))) break;
    if (found.some((one) => one === undefined)) return `no such command: drover ${line}`;
    chain.push(found[0]!);
  }
  const known = new Set(['--help', ...chain.flatMap(({ options }) => options.map(({ long }) => long))]);
  const flag = matches(line.replaceAll(/"[^"]*"|'[^']*'/g, ''), /(?<![\w-])--[a-z][a-z-]*/g).find(
    (one) => !known.has(one),
  );
  return flag === undefined ? null : `no such flag ${flag}: drover ${line}`;
}

/** The command lines in a piece of code: up to what ends one in a shell, or a quotation in a message. */
const linesIn = (code: string): string[] =>
  matches(
    code.replaceAll('\\|', '|'),
    /(?<=(?:^|[`(] ?|\$ |npx |node |&& |; )\s*)drover(?:\.mjs)? ((?:[^|#;&>`)]|(?<=[a-z])\|(?=[a-z]))+)/g,
  );

test('each command and flag of drover that a page, a message or an alert names is there', () => {
  const quoted = inMessages.flatMap(({ file, code }) =>
    matches(code, /`(drover [^`]+)`/g).map((one) => ({ file, code: one })),
  );
  const alerts = inManifests.flatMap(({ file, code }) =>
    matches(code, /`(drover [^`]+)`/g).map((one) => ({ file, code: one })),
  );
  const all = [...inPages, ...quoted, ...inExamples, ...alerts];
  const faults = all.flatMap(({ file, code }) =>
    linesIn(code)
      .flatMap((line) => faultOf(line) ?? [])
      .map((fault) => `${file}: ${fault}`),
  );
  expect(all.flatMap(({ code }) => linesIn(code)).length).toBeGreaterThan(500);
  expect([...new Set(faults)]).toEqual([]);
});

/** Of other programs, whose names stand beside. */
const FOREIGN_FLAGS = new Set(
  (
    '--auth-header-fields-enabled --oidc-groups-prefix --oidc-username-prefix --upstream-client-cert-file ' +
    '--requestheader-allowed-names --requestheader-client-ca-file --namespace-mappings ' +
    '--cascade --field-manager --max-semi-space-size --overwrite --server-side'
  ).split(' '),
);

test('each flag that stands alone in a page is one of a command of drover', () => {
  const flagsOf = ({ options, commands }: Command): string[] => [
    ...options.flatMap(({ long }) => long ?? []),
    ...commands.flatMap(flagsOf),
  ];
  const known = new Set(flagsOf(program));
  const lost = inPages
    .filter(({ code }) => code.startsWith('--'))
    .flatMap(({ file, code }) => matches(code, /(?<![\w-])--[a-z][a-z-]*/g).map((flag) => ({ file, flag })))
    .filter(({ flag }) => !known.has(flag) && !FOREIGN_FLAGS.has(flag));
  expect(lost).toEqual([]);
});
