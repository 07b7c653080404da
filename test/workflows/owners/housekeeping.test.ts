import '../../own-modules.ts';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Acted } from '../../../activities/owners/try-each.ts';
import { FailureBackoff } from '../../../workflows/owners/failure-backoff.ts';
import { InFlight } from '../../../workflows/owners/in-flight.ts';
import { tidy } from '../../../workflows/owners/steps.ts';

vi.mock('@temporalio/workflow', async (original) => ({
  ...(await original<object>()),
  log: { info: () => {}, error: () => {} },
}));

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());
const leaveAll = (): Promise<'skipped'> => Promise.resolve('skipped');

/** What housekeeping needs of its owner's workflow. */
const aContext = (state?: FailureBackoff['state']) => ({
  inProgress: new InFlight(),
  failureBackoff: new FailureBackoff(state),
  journal: { begin: () => () => {} },
  onEnd: vi.fn<() => void>(),
});
const delayOf = ({ failureBackoff }: ReturnType<typeof aContext>): number =>
  failureBackoff.retryAt === null ? 0 : failureBackoff.retryAt - Date.now();

test.each<[string, () => Promise<Acted>, string]>([
  ['that leaves all as it is', leaveAll, 'nothing came of it: a test'],
  ['that is refused', () => Promise.reject(new Error('denied')), 'a test: denied'],
])('housekeeping %s waits longer each time, until it passes', async (_name, act, message) => {
  const context = aContext();
  const { failureBackoff, onEnd } = context;
  for (const ms of [1_000, 2_000, 4_000]) {
    tidy(context, 'unlabelKeptDisks', 'a test', act);
    await settled();
    expect(delayOf(context)).toBe(ms);
    vi.setSystemTime(Date.now() + ms);
  }
  expect(failureBackoff.backoffs(() => false).FailedUnlabelKeptDisks).toMatchObject({ failure: { message } });
  // Each end has the owner look again, the last so that the failure is told of no more.
  tidy(context, 'unlabelKeptDisks', 'a test', () => Promise.resolve('done'));
  await settled();
  expect(onEnd).toHaveBeenCalledTimes(4);
  expect(failureBackoff.backoffs(() => false)).toEqual({});
});

test('housekeeping that is done wakes no pool that has not asked meanwhile', async () => {
  const context = aContext();
  const act = vi.fn<() => Promise<void>>(() => Promise.resolve());
  tidy(context, 'unlabelKeptDisks', 'a test', act);
  await settled();
  expect(context.onEnd).not.toHaveBeenCalled();
  for (let again = 0; again < 3; again++) tidy(context, 'unlabelKeptDisks', 'a test', act);
  await settled();
  expect(act).toHaveBeenCalledTimes(2);
  expect(context.onEnd).toHaveBeenCalledTimes(1);
  expect(context.inProgress.isEmpty).toBe(true);
});

test('the next run of a workflow waits longer after housekeeping that failed in the run before', async () => {
  const first = aContext();
  tidy(first, 'addLabels', 'a test', leaveAll);
  await settled();
  vi.setSystemTime(Date.now() + delayOf(first));
  const next = aContext(first.failureBackoff.state);
  tidy(next, 'annotateRuns', 'a test', leaveAll);
  await settled();
  expect(delayOf(next)).toBe(1_000);
  vi.setSystemTime(Date.now() + delayOf(next));
  tidy(next, 'addLabels', 'a test', leaveAll);
  await settled();
  expect(delayOf(next)).toBe(2_000);
});
