import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { living } from '../stacks.ts';

const module = (file: string): string => fileURLToPath(new URL(`../../../dev/process/${file}`, import.meta.url));
/** Holds a process by a reaper, and prints the ids of both: again for each reaper that takes the place of another. */
const SUPERVISOR = `
  import { spawn } from 'node:child_process';
  import { ProcessReaper } from '${module('reaper.ts')}';
  import { identify } from '${module('process-identity.ts')}';
  const held = spawn('sleep', ['60'], { detached: true });
  const reaper = new ProcessReaper();
  reaper.add(identify(held.pid));
  let last;
  setInterval(() => {
    if (reaper.pid !== last) console.log(JSON.stringify({ reaper: last = reaper.pid, held: held.pid }));
  }, 10);
`;

test('a reaper that is killed is replaced, and what it holds ends when its holder is killed', async () => {
  const supervisor = spawn(process.execPath, ['--input-type=module', '-e', SUPERVISOR], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void supervisor.kill('SIGKILL'));
  const lines = createInterface({ input: supervisor.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value as string) as { reaper: number; held: number };
  const first = await next();
  process.kill(first.reaper, 'SIGKILL');
  const { reaper, held } = await next();
  expect(reaper).not.toBe(first.reaper);
  expect(living([held])).toEqual([held]);
  supervisor.kill('SIGKILL');
  await once(supervisor, 'exit');
  await expect.poll(() => living([held, reaper]), { timeout: 20_000 }).toEqual([]);
});
