import { expect, test } from 'vitest';
import { VirtualTime } from './world/virtual-time.ts';

interface Reading {
  now: number;
  process: number;
  /** The next random number. */
  chance: number;
}
const read = (): Reading => ({ now: Date.now(), process: performance.now(), chance: Math.random() });

/** Returns what is read within a simulation that begins at 0, once `meanwhile` is over. */
async function simulated(meanwhile: () => Promise<void> = async () => {}): Promise<Reading> {
  const time = new VirtualTime(0, 1);
  let reading: Reading | undefined;
  const live = async (): Promise<void> => {
    await meanwhile();
    await new Promise((resolve) => void setTimeout(resolve, 60_000));
    reading = read();
  };
  await time.simulate(
    () => void live(),
    () => reading !== undefined,
  );
  return reading!;
}

test('code beside a simulation has real time and chance, and changes nothing in it', async () => {
  const begun = Promise.withResolvers<void>();
  const beside = begun.promise.then(async () => {
    const { now } = read();
    const fired = new Promise((resolve) => void setTimeout(resolve, 0));
    clearTimeout(setTimeout(() => expect.unreachable(), 0));
    const repeated = new Promise<void>((resolve) => {
      const timer = setInterval(() => (clearInterval(timer), resolve()), 1);
    });
    const over = AbortSignal.timeout(1);
    const aborted = new Promise((resolve) => over.addEventListener('abort', resolve));
    return { now, timers: Promise.all([fired, repeated, aborted]) };
  });

  const disturbed = await simulated(async () => {
    begun.resolve();
    await beside;
  });

  expect(disturbed).toEqual(await simulated());
  expect(disturbed.now).toBe(60_000);
  expect((await beside).now).toBeGreaterThan(Date.UTC(2026));
  await (
    await beside
  ).timers;
});
