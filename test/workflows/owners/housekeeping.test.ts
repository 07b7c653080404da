import '../../own-modules.ts';
import { expect, test, vi } from 'vitest';
import { InFlight } from '../../../workflows/owners/in-flight.ts';
import { tidy } from '../../../workflows/owners/steps.ts';

/** The delays that have begun, in milliseconds, and what ends the last one. */
const { delays, ends } = vi.hoisted(() => ({ delays: [] as number[], ends: [] as (() => void)[] }));
vi.mock('@temporalio/workflow', async (original) => ({
  ...(await original<object>()),
  sleep: (ms: number) => new Promise<void>((resolve) => void (delays.push(ms), ends.push(resolve))),
}));

const leaveAll = (): Promise<'left'> => Promise.resolve('left');
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('housekeeping that leaves all as it is waits before it is begun again, and wakes nobody who has not asked', async () => {
  const onEnd = vi.fn<() => void>();
  const act = vi.fn<() => Promise<'done' | 'left'>>(() => Promise.resolve('left'));
  const context = { inProgress: new InFlight(), onEnd };
  const turn = (): void => tidy(context, 'unmarkKeptDisks', 'a test', act);
  for (const ms of [1_000, 2_000, 4_000]) {
    turn();
    await settled();
    expect(delays.at(-1)).toBe(ms);
    for (let again = 0; again < 3; again++) turn();
    ends.at(-1)!();
    await settled();
  }
  expect(act).toHaveBeenCalledTimes(3);
  expect(onEnd).toHaveBeenCalledTimes(3);
  turn();
  await settled();
  ends.at(-1)!();
  await settled();
  expect(onEnd).toHaveBeenCalledTimes(3);
  act.mockImplementation(() => Promise.resolve('done'));
  turn();
  await settled();
  expect(delays).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(context.inProgress.isEmpty).toBe(true);
});

test('the next run of a workflow waits longer after housekeeping that has failed in the run before', async () => {
  delays.length = 0;
  const first = { inProgress: new InFlight(), onEnd: () => {} };
  tidy(first, 'addLabels', 'a test', leaveAll);
  await settled();
  const next = { inProgress: new InFlight(first.inProgress.failures), onEnd: () => {} };
  tidy(next, 'addLabels', 'a test', leaveAll);
  tidy(next, 'annotateRuns', 'a test', leaveAll);
  await settled();
  expect(delays).toEqual([1_000, 2_000, 1_000]);
});
