import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { identify, isAlive } from '../dev/process/process-identity.ts';
import { eventually } from './wait-for.ts';

const script = `
import { spawnReaped } from '${import.meta.dirname}/reaped.ts';
console.log(spawnReaped('sleep', ['600'], { stdio: 'ignore' }).pid);
setInterval(() => {}, 1000);
`;

test('a process that a test has started ends with it, even if the test is killed', async () => {
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
  const child = identify(Number(line))!;
  expect(isAlive(child)).toBe(true);
  parent.kill('SIGKILL');
  await eventually(() => expect(isAlive(child)).toBe(false));
});
