import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { living } from '../stacks.ts';

const module = (file: string): string => fileURLToPath(new URL(`../../../dev/process/${file}`, import.meta.url));
/** Holds a process on a leash, and prints the ids of both: again for each leash that takes the place of another. */
const SUPERVISOR = `
  import { spawn } from 'node:child_process';
  import { Leash } from '${module('leash.ts')}';
  import { identify } from '${module('process-identity.ts')}';
  const held = spawn('sleep', ['60'], { detached: true });
  const leash = new Leash();
  leash.hold(identify(held.pid));
  let last;
  setInterval(() => {
    if (leash.pid !== last) console.log(JSON.stringify({ leash: last = leash.pid, held: held.pid }));
  }, 10);
`;

test('the leash itself may be killed: another takes its place, and ends what is held when its holder is killed', async () => {
  const supervisor = spawn(process.execPath, ['--input-type=module', '-e', SUPERVISOR], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void supervisor.kill('SIGKILL'));
  const lines = createInterface({ input: supervisor.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value as string) as { leash: number; held: number };
  const first = await next();
  process.kill(first.leash, 'SIGKILL');
  const { leash, held } = await next();
  expect(leash).not.toBe(first.leash);
  expect(living([held])).toEqual([held]);
  supervisor.kill('SIGKILL');
  await once(supervisor, 'exit');
  await expect.poll(() => living([held, leash]), { timeout: 20_000 }).toEqual([]);
});
