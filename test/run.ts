import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { text } from 'node:stream/consumers';

/**
 * `npm test`: type check, lint, format, and all tests. Checks and unit tests run beside the tests on servers, which wait
 * for a third of their time. The output ends with the slowest files and a line that says how many tests and checks
 * passed and failed. With arguments, which are Vitest's, only the tests that they choose run, after the checks.
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

/** Runs the program in this terminal. Returns whether it has succeeded. */
async function run(name: string, ...args: string[]): Promise<boolean> {
  process.stdout.write(`\n> ${name} ${args.join(' ')}\n`);
  const child = spawn(bin(name), args, { stdio: 'inherit', cwd: PROJECT });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}

/** Like `run`, but after others in their need of CPU, and with the output in one piece at the end. */
async function runAside(name: string, ...args: string[]): Promise<boolean> {
  const child = spawn(bin(name), args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: PROJECT });
  setPriority(child.pid!, constants.priority.PRIORITY_BELOW_NORMAL);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  process.stdout.write(`\n> ${name} ${args.join(' ')}\n${stdout}${stderr}`);
  return code === 0;
}

async function check(how: typeof run): Promise<boolean[]> {
  return [
    await how('tsc', '-p', '.'),
    await how('oxlint', '--type-aware', '--deny-warnings'),
    await how('oxfmt', '--check'),
  ];
}

/** Runs tests, and returns the report, and whether all was well: errors outside of tests are in no report. */
async function test(how: typeof run, ...args: string[]): Promise<Report & { isWell: boolean }> {
  const folder = mkdtempSync(join(tmpdir(), 'drover-report-'));
  const file = join(folder, 'report.json');
  const isWell = await how(
    'vitest',
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${file}`,
    ...args,
  );
  try {
    return { ...(JSON.parse(readFileSync(file, 'utf8')) as Report), isWell };
  } catch {
    process.stdout.write('vitest wrote no report\n');
    return { numPassedTests: 0, numFailedTests: 0, testResults: [], isWell };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function all(): Promise<[boolean[], ...Awaited<ReturnType<typeof test>>[]]> {
  const aside = async () => [await check(runAside), await test(runAside, '--project', 'unit')] as const;
  const [[checks, unit], servers] = await Promise.all([aside(), test(run, '--project', 'servers')]);
  return [checks, unit, servers];
}

/** A line for each of the slowest files, in seconds. */
function slowest(reports: Report[]): string[] {
  const results = reports.flatMap(({ testResults }) => testResults);
  const seconds = results.map(({ name, startTime, endTime }) => ({ name, took: (endTime - startTime) / 1000 }));
  const first = seconds.toSorted((one, other) => other.took - one.took).slice(0, SLOWEST);
  return first.map(({ name, took }) => `${took.toFixed(0).padStart(6)} s  ${relative(PROJECT, name)}`);
}

const args = process.argv.slice(2);
const [checks, ...reports] = args.length === 0 ? await all() : [await check(run), await test(run, ...args)];
process.stdout.write(`\nthe slowest files:\n${slowest(reports).join('\n')}\n`);
const count = (of: 'numPassedTests' | 'numFailedTests'): number => reports.reduce((sum, report) => sum + report[of], 0);
const good = count('numPassedTests') + checks.filter(Boolean).length;
const found = count('numFailedTests') + checks.filter((isGood) => !isGood).length;
// A file that failed to load, or an error outside all tests, is a failure too.
const passed = reports.every(({ isWell }) => isWell);
const bad = !passed && found === 0 ? 1 : found;
process.stdout.write(`\n${good} passed, ${bad} failed\n`);
process.exitCode = bad === 0 && passed ? 0 : 1;
