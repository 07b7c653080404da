import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

/**
 * `node test/cluster/releases.ts v1.6.3=FILE v1.7.0=FILE …`: writes docs/kubevirt-releases.md from what `npm run
 * test:cluster` has printed about each release. The page keeps what it says of other releases.
 */

export interface Outcome {
  /** The release of KubeVirt. */
  of: string;
  /** How many tests have passed, by file. */
  passed: Map<string, number>;
  failed: string[];
  /** How many tests were skipped, by reason. */
  skipped: Map<string, number>;
  /** How many files were left out, by reason. */
  leftOut: Map<string, number>;
}

const DONE = /^ [✓×] +(?:\|?cluster\|? +)?(\S+ > .+?)(?: \d+ms)?$/;
/** The last line of a run that came to its end, which removes what it has made. */
const END = /^removed: /m;

/** Reads what a run has printed. Throws if it has not come to its end: what it did not try is no outcome. */
export function outcomeOf(release: string, printed: string): Outcome {
  const text = stripVTControlCharacters(printed);
  if (!END.test(text) || text.includes('interrupted: '))
    throw new Error(`the run on ${release} has not come to its end`);
  const lines = text.split('\n');
  const tests = (mark: string): string[] =>
    lines.filter((line) => line.startsWith(` ${mark} `)).flatMap((line) => DONE.exec(line)?.[1] ?? []);
  const from = (title: RegExp): string[] => lines.slice(lines.findIndex((line) => title.test(line)) + 1);
  const leftOut = lines.flatMap((line): [string, number][] => {
    const [, count, reason] = /^(\d+) files left out: (.+)$/.exec(line) ?? [];
    return reason === undefined ? [] : [[reason, Number(count)]];
  });
  return {
    of: release,
    passed: new Map([...Map.groupBy(tests('✓'), fileOf)].map(([file, { length }]) => [file, length])),
    failed: tests('×'),
    skipped: countsOf(from(/^\d+ tests skipped/)),
    leftOut: new Map(leftOut),
  };
}

const fileOf = (test: string): string => test.slice(0, test.indexOf(' > '));

/** Reads reasons, each with the tests that are skipped for it below it. */
function countsOf(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  let reason = '';
  for (const line of lines) {
    if (!line.startsWith('  ')) break;
    if (line.startsWith('    ')) counts.set(reason, counts.get(reason)! + 1);
    else counts.set((reason = line.trim()), 0);
  }
  return counts;
}

const total = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((sum, one) => sum + one, 0);
const row = (...cells: (string | number)[]): string => `| ${cells.join(' | ')} |`;
const table = (head: readonly string[], rows: readonly (string | number)[][]): string =>
  [row(...head), row(...head.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n');

/** Reads a page that `pageOf` has made. */
export function outcomesOn(page: string): Outcome[] {
  const blocks = page
    .trimEnd()
    .split('\n\n')
    .map((block) => block.split('\n'));
  const tableOf = (head: string): string[][] => {
    const [, , ...rows] = blocks.find(([first]) => first!.startsWith(`| ${head} |`)) ?? [];
    return rows.map((line) => line.slice(2, -2).split(' | '));
  };
  const counts = (head: string, column: number): Map<string, number> =>
    new Map(tableOf(head).flatMap((cells) => (cells[column] === '0' ? [] : [[cells[0]!, Number(cells[column])]])));
  return tableOf('KubeVirt').map(([of], index) => ({
    of: of!,
    passed: counts('tests of', index + 1),
    failed: blocks.flat().flatMap((line) => (line.startsWith(`- ${of}: `) ? [line.slice(`- ${of}: `.length)] : [])),
    skipped: counts('why', index + 1),
    leftOut: counts('why | files', 1),
  }));
}

/** Returns the page about runs, the oldest release first. */
export function pageOf(outcomes: readonly Outcome[]): string {
  const releases = outcomes.map(({ of }) => of);
  const byRelease = (of: (outcome: Outcome) => ReadonlyMap<string, number>): (string | number)[][] =>
    [...new Set(outcomes.flatMap((outcome) => [...of(outcome).keys()]))].map((one) => [
      one,
      ...outcomes.map((outcome) => of(outcome).get(one) ?? 0),
    ]);
  const leftOut = outcomes.at(-1)!.leftOut;
  const failed = outcomes.flatMap(({ of, failed: tests }) => tests.map((test) => `- ${of}: ${test}`));
  return `${[
    "# drover on KubeVirt's releases",
    `What [\`npm run test:cluster\`](../test/README.md#on-a-cluster-of-your-own) has found on each release of KubeVirt:
its own virt-api and virt-controller, built from the tag, with a stand-in for nodes, kubelet and virt-handler, and
without CDI. \`node test/cluster/releases.ts\` makes this page from what the runs have printed.`,
    table(
      ['KubeVirt', 'tests passed', 'failed', 'skipped'],
      outcomes.map(({ of, passed, failed: { length }, skipped }) => [of, total(passed), length, total(skipped)]),
    ),
    ...(failed.length === 0 ? [] : ['## What failed', failed.join('\n')]),
    '## What was skipped, and why',
    table(
      ['why', ...releases],
      byRelease(({ skipped }) => skipped),
    ),
    '## What passed, in the files that were run',
    table(
      ['tests of', ...releases],
      byRelease(({ passed }) => passed),
    ),
    ...(leftOut.size === 0
      ? []
      : ['## Files that run on no cluster but their own', table(['why', 'files'], [...leftOut])]),
  ].join('\n\n')}\n`;
}

if (import.meta.main) {
  const page = join(resolve(import.meta.dirname, '../..'), 'docs/kubevirt-releases.md');
  const outcomes = new Map(
    (existsSync(page) ? outcomesOn(readFileSync(page, 'utf8')) : []).map((one) => [one.of, one]),
  );
  if (process.argv.length === 2) throw new Error('no run is given: node test/cluster/releases.ts v1.6.3=FILE …');
  for (const argument of process.argv.slice(2)) {
    const [release, file] = argument.split('=');
    if (file === undefined) throw new Error('say what was run on which release: v1.6.3=FILE, the oldest first');
    outcomes.set(release!, outcomeOf(release!, readFileSync(file, 'utf8')));
  }
  writeFileSync(page, pageOf([...outcomes.values()]));
}
