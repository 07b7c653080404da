import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LockHeld, lockHolder, acquireLock } from '../../../dev/process/lock.ts';
import { identify, isAlive } from '../../../dev/process/process-identity.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'drover-lock-'));
  file = join(folder, 'lock');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a lock is held until it is released, and names its holder', () => {
  const lock = acquireLock(file);
  expect(lockHolder(file)?.pid).toBe(process.pid);
  expect(() => acquireLock(file)).toThrow(LockHeld);
  lock.release();
  expect(lockHolder(file)).toBeUndefined();
  acquireLock(file).release();
  expect(readdirSync(folder)).toEqual([]);
});

test('a lock of a process that has ended is taken over', async () => {
  const child = spawn('sleep', ['60']);
  const holder = identify(child.pid!)!;
  writeFileSync(file, JSON.stringify({ ...holder, token: 'theirs' }));
  expect(() => acquireLock(file)).toThrow(`${file} is held by process ${child.pid}`);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isAlive(holder)).toBe(false);
  acquireLock(file);
  expect(lockHolder(file)?.pid).toBe(process.pid);
});

test('a lock of a process whose pid another process has now is taken over', () => {
  writeFileSync(file, JSON.stringify({ pid: process.pid, started: 'long ago', token: 'theirs' }));
  expect(lockHolder(file)).toBeUndefined();
  acquireLock(file);
  expect(lockHolder(file)?.pid).toBe(process.pid);
});

test('a lock file that is damaged is taken over', () => {
  writeFileSync(file, '{"pid": 1, "sta');
  expect(lockHolder(file)).toBeUndefined();
  acquireLock(file);
  expect(lockHolder(file)?.pid).toBe(process.pid);
});

test('a late release leaves the lock of the next holder alone', () => {
  const late = acquireLock(file);
  writeFileSync(file, JSON.stringify({ ...identify(process.pid), token: 'of the next' }));
  late.release();
  expect(existsSync(file)).toBe(true);
});

test("one of many processes that find a dead one's lock gets it", async () => {
  const take = `
    import { acquireLock } from '${join(import.meta.dirname, '../../../dev/process/lock.ts')}';
    process.stdin.once('data', () => {
      try { acquireLock(process.argv[1]); console.log('mine'); } catch (error) { console.log(error.name); }
      process.stdin.once('data', () => process.exit());
    });
    console.log('here');`;
  writeFileSync(file, JSON.stringify({ pid: process.pid, started: 'long ago', token: 'theirs' }));
  const takers = Array.from({ length: 6 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', take, file], { stdio: ['pipe', 'pipe', 'inherit'] }),
  );
  const said = (): Promise<string[]> =>
    Promise.all(takers.map(async ({ stdout }) => String((await once(stdout, 'data'))[0]).trim()));
  try {
    await said();
    const answers = said();
    for (const { stdin } of takers) stdin.write('take\n');
    expect((await answers).sort()).toEqual([...Array.from({ length: 5 }, () => 'LockHeld'), 'mine']);
    expect(takers.map(({ pid }) => pid)).toContain((JSON.parse(readFileSync(file, 'utf8')) as { pid: number }).pid);
  } finally {
    for (const taker of takers) taker.kill('SIGKILL');
  }
});
