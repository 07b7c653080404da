import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { clocks } from '../../kubernetes/lib/clocks.ts';
import { whileFresh } from '../../kubernetes/retry.ts';

/** Acts that send nothing if they are that late, one after the other, in milliseconds. */
async function sentAfter(...lateMs: readonly number[]): Promise<{ asked: number; sent: number }> {
  let [asked, sent] = [0, 0];
  await whileFresh(async (lastCheck) => {
    vi.advanceTimersByTime(lateMs[asked++] ?? 0);
    lastCheck();
    sent++;
  });
  return { asked, sent };
}

describe('an answer', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  test('that is fresh is acted upon', async () => {
    expect(await sentAfter(999)).toEqual({ asked: 1, sent: 1 });
  });

  test('that has grown old is not acted upon: the question is asked again', async () => {
    expect(await sentAfter(1_000)).toEqual({ asked: 2, sent: 1 });
  });

  test('may be older if the API server is slow each time', async () => {
    expect(await sentAfter(1_500, 1_500)).toEqual({ asked: 2, sent: 1 });
    expect(await sentAfter(5_000, 5_000, 5_000, 5_000)).toEqual({ asked: 4, sent: 1 });
  });

  test.each([
    [{ lateMs: 0 }, { asked: 0, sent: 1 }],
    [{ lateMs: 600 }, { asked: 1, sent: 1 }],
  ])('that the caller has already is acted upon while it is fresh: %j', async ({ lateMs }, expected) => {
    const answered = clocks();
    vi.advanceTimersByTime(500);
    let [asked, sent] = [0, 0];
    const act = async (lastCheck: () => void, isKnown: boolean): Promise<void> => {
      if (!isKnown) asked++;
      vi.advanceTimersByTime(lateMs);
      lastCheck();
      sent++;
    };
    await whileFresh(act, undefined, answered);
    expect({ asked, sent }).toEqual(expected);
  });

  test('is a conflict if it stays too old', async () => {
    await expect(sentAfter(9_000, 9_000, 9_000, 9_000)).rejects.toMatchObject({ reason: 'Conflict' });
  });

  test.each([
    ['the wall clock', 'Date'],
    ['the clock of the process', 'performance'],
  ] as const)('grows old by %s alone', async (_clock, fake) => {
    vi.useRealTimers();
    vi.useFakeTimers({ toFake: [fake] });
    expect(await sentAfter(1_500)).toEqual({ asked: 2, sent: 1 });
  });

  test('is not asked for again if something else is refused', async () => {
    const refused = new Error('refused');
    let asked = 0;
    const act = async (lastCheck: () => void): Promise<void> => {
      asked++;
      lastCheck();
    };
    const also = (): void => {
      throw refused;
    };
    await expect(whileFresh(act, also)).rejects.toBe(refused);
    expect(asked).toBe(1);
  });
});
