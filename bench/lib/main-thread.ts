import type { Browser, Page } from 'playwright-core';

/** An event of Chromium's trace; times are in microseconds. */
interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  /** Of `dur`, what the thread has computed; the rest of the time, it waited for a core. */
  tdur?: number;
  args?: { name?: string };
}

/** What the page's main thread did. Times are in milliseconds; of tasks over 50 ms, each has its own. */
interface MainThread {
  /** Part of the time in which it computed. */
  busy: number;
  /** Tasks over 50 ms by the clock, also if the thread only waited for a core. */
  byClock: number[];
  /** Tasks that have computed for over 50 ms: what is the page's own. */
  byCpu: number[];
  /** CPU time of the longest task, and what took most of it. */
  longest: number;
  what: string;
}

const LONG_US = 50_000;
const TASK = 'RunTask';
const CATEGORIES = ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'v8'];

/**
 * Follows the page's main thread while `work` runs. A long task of the browser's own clock may be a busy machine; CPU
 * time tells that apart.
 */
export async function mainThread(browser: Browser, page: Page, work: () => Promise<void>): Promise<MainThread> {
  await browser.startTracing(page, { categories: CATEGORIES });
  const begun = Date.now();
  await work();
  const passed = Date.now() - begun;
  const text = (await browser.stopTracing()).toString('utf8');
  const { traceEvents } = JSON.parse(text) as { traceEvents: TraceEvent[] };
  return summaryOf(busiestOf(traceEvents), passed);
}

/** Events of the busiest main thread: a browser keeps spare ones for pages to come. */
function busiestOf(events: readonly TraceEvent[]): TraceEvent[] {
  const names = events.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain');
  const threads = names.map((of) =>
    events.filter(({ pid, tid, ph }) => pid === of.pid && tid === of.tid && ph === 'X'),
  );
  const busy = (thread: TraceEvent[]): number => sumOf(thread.filter(({ name }) => name === TASK).map(cpuOf));
  return threads.toSorted((a, b) => busy(b) - busy(a))[0] ?? [];
}

function summaryOf(events: readonly TraceEvent[], passed: number): MainThread {
  const tasks = events.filter(({ name }) => name === TASK);
  const longest = tasks.toSorted((a, b) => cpuOf(b) - cpuOf(a))[0];
  return {
    busy: sumOf(tasks.map(cpuOf)) / 1000 / passed,
    byClock: tasks.filter(({ dur = 0 }) => dur > LONG_US).map(({ dur = 0 }) => ms(dur)),
    byCpu: tasks.filter((task) => cpuOf(task) > LONG_US).map((task) => ms(cpuOf(task))),
    longest: longest === undefined ? 0 : ms(cpuOf(longest)),
    what: longest === undefined ? '' : partsOf(longest, events),
  };
}

/** What a task consists of, what took most first; parts of parts count in both. */
function partsOf(task: TraceEvent, events: readonly TraceEvent[]): string {
  const end = task.ts + (task.dur ?? 0);
  const within = events.filter((one) => one !== task && one.ts >= task.ts && one.ts + (one.dur ?? 0) <= end);
  const byName = Object.entries(Object.groupBy(within, ({ name }) => name));
  return byName
    .map(([name, some]) => [name, Math.round(sumOf(some!.map(cpuOf)) / 1000)] as const)
    .filter(([, ms]) => ms > 0)
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, 5)
    .map(([name, ms]) => `${name} ${ms}`)
    .join(', ');
}

const ms = (us: number): number => Math.round(us / 1000);
const cpuOf = ({ tdur, dur = 0 }: TraceEvent): number => tdur ?? dur;
const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);

/** One line. */
export const sentenceOf = ({ busy, byClock, byCpu, longest, what }: MainThread): string =>
  `main thread busy ${(busy * 100).toFixed(0)} %; tasks over 50 ms of CPU: ${listOf(byCpu)}, by the clock: ${listOf(byClock)}; longest ${longest} ms of CPU (${what})`;

const listOf = (times: readonly number[]): string => (times.length === 0 ? 'none' : JSON.stringify(times));
