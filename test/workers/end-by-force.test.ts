import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { endByForce } from '../../workers/ending/end-by-force.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a process that was asked to stop ends with an error before Kubernetes kills it, and not before', () => {
  const stopping = new AbortController();
  const exit = vi.fn<(code: number) => void>();
  const error = vi.fn<(message: string) => void>();
  endByForce({ stop: stopping.signal, logger: { error }, exit });
  vi.advanceTimersByTime(3_600_000);
  expect(exit).not.toHaveBeenCalled();
  stopping.abort();
  // Running work gets 35 seconds.
  vi.advanceTimersByTime(35_000);
  expect(exit).not.toHaveBeenCalled();
  vi.advanceTimersByTime(9_000);
  expect(exit.mock.calls).toEqual([[1]]);
  expect(error).toHaveBeenCalledOnce();
});
