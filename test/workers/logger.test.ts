import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);
const LOGGER = new URL('../../workers/logger.ts', import.meta.url).href;

/** Runs a program that logs to a file, and lets it write a few KB at most, as on a disk that is nearly full. */
async function logged(program: string): Promise<Record<string, unknown>[]> {
  const folder = mkdtempSync(join(tmpdir(), 'drover-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'log');
  const script = `
    import { truncateSync } from 'node:fs';
    const { createLogger } = await import(${JSON.stringify(LOGGER)});
    const log = createLogger('info');
    const makeRoom = () => truncateSync(${JSON.stringify(file)}, 0);
    ${program}`;
  const shell = `ulimit -f 4 && exec "$0" --input-type=module -e "$1" 2>>"$2"`;
  await run('sh', ['-c', shell, process.execPath, script, file], { timeout: 20_000 });
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('a worker whose log can no longer be written continues, and says later how much is missing', async () => {
  const lines = await logged(`
    for (let i = 0; i < 100; i++) log.info('x'.repeat(200));
    makeRoom();
    log.info('there is room again');
    log.info('and more');`);
  expect(lines.map(({ msg }) => msg)).toEqual([
    'lines of this log could not be written',
    'there is room again',
    'and more',
  ]);
  expect(lines[0]!['lines']).toBeGreaterThan(50);
  expect(lines[0]!['lines']).toBeLessThan(100);
});
