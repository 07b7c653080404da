import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** `npm test`: types, lint, and every test on the real servers. Its last line says how many of them passed and failed. */

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numFailedTestSuites: number;
}

const bin = (name: string): string => join(import.meta.dirname, '../node_modules/.bin', name);

async function run(name: string, ...args: string[]): Promise<boolean> {
  process.stdout.write(`\n> ${name} ${args.join(' ')}\n`);
  const child = spawn(bin(name), args, { stdio: 'inherit', cwd: join(import.meta.dirname, '..') });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}

const folder = mkdtempSync(join(tmpdir(), 'drover-report-'));
const report = join(folder, 'report.json');
const checks = [await run('tsc', '-p', '.'), await run('oxlint', '--type-aware', '--deny-warnings')];
const passed = await run('vitest', 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...process.argv.slice(2));

let tests: Report = { numPassedTests: 0, numFailedTests: 0, numFailedTestSuites: 0 };
try {
  tests = JSON.parse(readFileSync(report, 'utf8')) as Report;
} catch {
  process.stdout.write('vitest wrote no report\n');
}
rmSync(folder, { recursive: true, force: true });
const good = tests.numPassedTests + checks.filter(Boolean).length;
const found = tests.numFailedTests + checks.filter((check) => !check).length;
// A file that could not even be loaded, or an error outside every test, is a failure too.
const bad = !passed && found === 0 ? 1 : found;
process.stdout.write(`\n${good} passed, ${bad} failed\n`);
process.exitCode = bad === 0 && passed ? 0 : 1;
