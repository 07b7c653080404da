import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FrameTime } from '../../../../clients/dashboard/page/parts/frame-time.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

test('the first drawing of a frame never waits, and others wait once its time is over', () => {
  const time = new FrameTime(3);
  for (let frame = 0; frame < 2; frame++) {
    // What the page did before, in the same frame.
    vi.advanceTimersByTime(10);
    time.begin();
    expect(time.isOver).toBe(false);
    vi.advanceTimersByTime(3);
    expect(time.isOver).toBe(false);
    vi.advanceTimersByTime(1);
    expect(time.isOver).toBe(true);
  }
});
