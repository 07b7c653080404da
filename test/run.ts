import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { text } from 'node:stream/consumers';

/**
 * `npm test`: type check, lint, format, and what `test/only-in-all.ts` does not leave to `npm run test:all`, which runs
 * all tests. The output ends with the slowest files and a line that says how many tests and checks passed and failed.
 */

/** Vitest's JSON report; times are in milliseconds since the epoch. */
interface Report {
  numPassedTests: number;
  numFailedTests: number;
  testResults: { name: string; startTime: number; endTime: number }[];
}

const PROJECT = join(import.meta.dirname, '..');
const SLOWEST = 10;

const bin = (name: string): string => join(PROJECT, 'node_modules/.bin', name);

/**
 * Tests start dozens of programs, which share a few cores. If these run as a batch, a program that wakes up interrupts
 * no other, and all together take a tenth less CPU. Only Linux has this, by a command of util-linux.
 */
const BATCH = ['chrt', '--batch', '0'] as const;
const hasBatch = spawnSync(BATCH[0], [...BATCH.slice(1), 'true']).status === 0;

/** Runs the tests. */
async function run(name: string, ...args: string[]): Promise<boolean> {
  process.stdout.write(`\n> ${name} ${args.join(' ')}\n`);
  const [command, ...rest] = [...(hasBatch ? BATCH : []), bin(name), ...args];
  const child = spawn(command, rest, { stdio: 'inherit', cwd: PROJECT });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}

/** Runs a check beside the tests, in what they leave of the CPU, and prints all of its output at its end. */
async function check(name: string, ...args: string[]): Promise<boolean> {
  const child = spawn(bin(name), args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: PROJECT });
  setPriority(child.pid!, constants.priority.PRIORITY_LOW);
  const [[code], ...output] = await Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]);
  process.stdout.write(`\n> ${name} ${args.join(' ')}\n${output.join('')}`);
  return code === 0;
}

/** A line for each of the slowest files, in seconds. */
function slowest({ testResults }: Report): string[] {
  const seconds = testResults.map(({ name, startTime, endTime }) => ({ name, took: (endTime - startTime) / 1000 }));
  const first = seconds.toSorted((a, b) => b.took - a.took).slice(0, SLOWEST);
  return first.map(({ name, took }) => `${took.toFixed(0).padStart(6)} s  ${relative(PROJECT, name)}`);
}

const [isAll, args] = process.argv[2] === '--all' ? [true, process.argv.slice(3)] : [false, process.argv.slice(2)];
if (!isAll) process.env['DROVER_TEST_SHORT'] = '1';
const folder = mkdtempSync(join(tmpdir(), 'drover-report-'));
const report = join(folder, 'report.json');
const checking = Promise.all([
  check('tsc', '-p', '.'),
  check('tsc', '-p', 'clients/dashboard/page'),
  check('oxlint', '--type-aware', '--deny-warnings'),
  check('oxfmt', '--check'),
]);
const passed = await run(
  'vitest',
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
  ...args,
);

const checks = await checking;

let tests: Report = { numPassedTests: 0, numFailedTests: 0, testResults: [] };
try {
  tests = JSON.parse(readFileSync(report, 'utf8')) as Report;
} catch {
  process.stdout.write('vitest wrote no report\n');
}
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`\nthe slowest files:\n${slowest(tests).join('\n')}\n`);
const good = tests.numPassedTests + checks.filter(Boolean).length;
const found = tests.numFailedTests + checks.filter((check) => !check).length;
// A file that failed to load, or an error outside all tests, is a failure too.
const bad = !passed && found === 0 ? 1 : found;
process.stdout.write(`\n${good} passed, ${bad} failed\n`);
process.exitCode = bad === 0 && passed ? 0 : 1;
