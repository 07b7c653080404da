import { expect, test } from 'vitest';
import { untilTemporalRestored, type WatchRun } from '../../workers/watch/temporal-restored.ts';

const run = (runId: string, transitions: number, isOpen = true): WatchRun => ({ runId, transitions, isOpen });

/** Looks at what Temporal says, in this order, and returns how many looks it took; Infinity if it continues. */
async function looks(said: readonly (WatchRun | null | Error)[]): Promise<{ count: number; asked: unknown[] }> {
  const asked: unknown[] = [];
  const stop = new AbortController();
  const describe = (runId: string | undefined): Promise<WatchRun | null> => {
    const one = said[asked.length] ?? null;
    asked.push(runId);
    if (asked.length === said.length) setImmediate(() => stop.abort());
    return one instanceof Error ? Promise.reject(one) : Promise.resolve(one);
  };
  const end = await untilTemporalRestored({ signal: stop.signal, everyMs: 1, describe }).then(
    () => asked.length,
    (error: Error) => {
      if (error.name !== 'AbortError') throw error;
      return Infinity;
    },
  );
  return { count: end, asked };
}

test('a run that has fewer changes than before was restored, also after an outage', async () => {
  expect((await looks([run('a', 5), run('a', 9), run('a', 7), run('a', 8)])).count).toBe(3);
  expect((await looks([run('a', 9), new Error('away'), new Error('away'), run('a', 6), run('a', 7)])).count).toBe(4);
});

test('a run that Temporal no longer knows was lost, unless the next look finds it', async () => {
  expect((await looks([run('a', 5), null, null, null])).count).toBe(3);
  expect((await looks([run('a', 5), null, run('a', 6), null, run('a', 7)])).count).toBe(Infinity);
});

test('a running workflow stops no worker: heartbeats, the next run of the watch, a watch that is not there yet', async () => {
  const { count, asked } = await looks([null, run('a', 5), run('a', 8), run('a', 9, false), run('b', 2), run('b', 2)]);
  expect(count).toBe(Infinity);
  expect(asked).toEqual([undefined, undefined, 'a', 'a', undefined, 'b']);
});
