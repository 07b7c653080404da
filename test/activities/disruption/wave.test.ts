import { setImmediate, setTimeout } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test, vi } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { NotAdmitted } from '../../../activities/disruption-budget/claim.ts';
import { withoutPlace } from '../../../activities/disruption-budget/without-place.ts';
import { ActsOfWaves } from '../../../activities/disruption/acts-of-waves.ts';
import type {
  Begun,
  DisruptionMethod,
  Turn,
  WaveOptions,
  WaveProgress,
  WaveResult,
  WaveStop,
} from '../../../activities/disruption/method.ts';
import { Refusals } from '../../../activities/disruption/refusals.ts';
import { runWave } from '../../../activities/disruption/wave.ts';
import { withGracefulCancel } from '../../../activities/lib/graceful-cancel.ts';
import { KubeError, KubeUnreachable } from '../../../kubernetes/errors.ts';

interface Vm {
  name: string;
}
interface Outcome {
  vm: string;
  end: 'done' | 'failed' | 'left';
  message?: string;
}

/** VMs of which so many may be down, and that are back when the test says so. */
class Fleet implements DisruptionMethod<Vm, Outcome> {
  most = 1;
  readonly taken: string[] = [];
  readonly back = new Set<string>();
  readonly down = new Set<string>();
  vms: Vm[] = [];
  begun: Begun[] = [];
  readonly minVersions = {};
  dueAt = Infinity;
  readonly refusals = new Refusals();
  readonly outcomes = new Map<string, Outcome>();
  readonly queued: (name: string) => boolean;
  mostDown = 0;
  looks = 0;
  isTimed = false;
  why: WaveStop | null = null;
  /** What `take` does instead, for the next calls. */
  readonly instead: (() => Promise<Outcome | NotAdmitted | null>)[] = [];

  constructor(queued: (name: string) => boolean = () => true) {
    this.queued = queued;
  }

  get known() {
    const known = new Map(this.begun.map((one) => [one.vm, one]));
    return {
      begun: this.vms.flatMap((held) => (known.has(held.name) ? [{ item: held, begun: known.get(held.name)! }] : [])),
      halfDone: this.vms.filter(({ name }) => !known.has(name) && !this.queued(name)),
    };
  }
  keyOf = (name: string): string => name;
  concerns = (): boolean => true;
  stop(): WaveStop | null {
    this.looks++;
    return this.why;
  }
  turn({ busy, ended }: WaveProgress, now: number): Turn<Vm> {
    const waiting = this.vms.filter(({ name }) => !busy.has(name) && !ended.has(name));
    const full = this.refusals.whyNot('', now);
    let room = full === null ? this.most - busy.size : 0;
    const next = waiting.filter(({ name }) => this.down.has(name) || room-- > 0);
    const whyNot = full ?? 'the disruption budget is used up';
    const { dueAt, isTimed, refusals } = this;
    return { next, waiting, open: waiting.length, whyNot, isTimed, dueAt, times: refusals.times };
  }
  begin = ({ name: vm }: Vm, since: number): Begun => ({ vm, since });
  isNews = ({ end }: Outcome): boolean => end !== 'done';
  givenBack = ({ name: vm }: Vm, { message: why }: WaveStop): Outcome | null => ({ vm, end: 'left', message: why });

  async execute({ name }: Vm): Promise<Outcome | NotAdmitted | null> {
    this.taken.push(name);
    const instead = this.instead.shift();
    if (instead !== undefined) {
      const outcome = await instead();
      if (outcome instanceof NotAdmitted) this.refusals.add('', outcome.whyNot);
      return outcome;
    }
    this.mostDown = Math.max(this.mostDown, this.taken.filter((one) => !this.back.has(one)).length);
    return null;
  }

  async follow({ name: vm }: Vm) {
    const outcome = this.outcomes.get(vm) ?? (this.back.has(vm) ? ({ vm, end: 'done' } as const) : null);
    return { outcome, isLate: false, times: [] };
  }
}

const CONCURRENCY = 8;

interface Run {
  result: Promise<WaveResult<Outcome, Begun>>;
  /** Has the wave look again. */
  look: () => void;
  env: MockActivityEnvironment;
  /** As if the worker was asked to shut down. */
  stop: () => void;
  /** As if the API server had been restored from a backup. */
  restore: () => void;
}

interface Options extends Pick<WaveOptions, 'acts' | 'idleMs' | 'idledMs' | 'reportMs'> {
  begun: Begun[];
}

function run(fleet: Fleet, names: readonly string[], options: Partial<Options> = {}): Run {
  const listeners = new Set<(change: object) => void>();
  const caches = {
    subscribe: (listener: (change: object) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    lost: new AbortController().signal,
    confirm: async () => {},
    catchUp: async () => {},
    versionsOf: () => ({}),
    restores: 0,
  };
  const env = new MockActivityEnvironment();
  const { begun = [], ...more } = options;
  Object.assign(fleet, { begun, vms: names.map((name) => ({ name })) });
  const stopping = new AbortController();
  const how = {
    cache: caches as unknown as ClusterCache,
    stopping: stopping.signal,
    concurrency: CONCURRENCY,
    acts: new ActsOfWaves(128),
    idleMs: 2_000,
    idledMs: 0,
    reportMs: 60_000,
    ...more,
  };
  const result = env.run(() =>
    withGracefulCancel((asked) => runWave(fleet, { ...how, cancelRequested: asked })),
  ) as Promise<WaveResult<Outcome, Begun>>;
  const look = (): void => listeners.forEach((listener) => listener({}));
  return { result, look, env, stop: () => stopping.abort(), restore: () => void caches.restores++ };
}

async function until(isSo: () => boolean, look: () => void): Promise<void> {
  await expect
    .poll(() => {
      look();
      return isSo();
    })
    .toBe(true);
}

test('the next VM goes down as soon as one is back, and never more than there is room for', async () => {
  const fleet = new Fleet();
  fleet.most = 2;
  const { result, look } = run(fleet, ['a', 'b', 'c', 'd']);
  await until(() => fleet.taken.length === 2, look);
  fleet.back.add('b');
  await until(() => fleet.taken.length === 3, look);
  expect(fleet.taken).toEqual(['a', 'b', 'c']);
  for (const name of 'acd') fleet.back.add(name);
  look();
  expect((await result).outcomes.map(({ vm, end }) => `${vm} ${end}`).sort()).toEqual([
    'a done',
    'b done',
    'c done',
    'd done',
  ]);
  expect(fleet.mostDown).toBe(2);
});

test('VMs in progress when the API server is restored are looked at anew, by another attempt', async () => {
  const fleet = new Fleet();
  const { result, look, restore } = run(fleet, ['a', 'b']);
  await until(() => fleet.taken.length === 1, look);
  restore();
  fleet.back.add('a');
  look();
  await expect(result).rejects.toMatchObject({ type: 'ApiServerRestored' });
  expect(fleet.taken).toEqual(['a']);
});

test('a VM that is already down waits for nothing', async () => {
  const fleet = new Fleet();
  fleet.down.add('c');
  const { result, look } = run(fleet, ['a', 'b', 'c']);
  await until(() => fleet.taken.length === 2, look);
  expect(fleet.taken).toEqual(['a', 'c']);
  for (const name of 'abc') fleet.back.add(name);
  look();
  await result;
});

test('an answer has some thousands of outcomes at most: the rest is for the next call', async () => {
  const fleet = new Fleet();
  fleet.most = Infinity;
  const begun = Array.from({ length: 2_000 }, (_, n) => ({ vm: `vm-${n}`, since: 0 }));
  for (const { vm } of begun) fleet.back.add(vm);
  const names = Array.from({ length: 2_100 }, (_, n) => `vm-${n}`);
  const { outcomes, isOver } = await run(fleet, names, { begun }).result;
  expect(outcomes).toHaveLength(2_000);
  expect(isOver).toBe(false);
  expect(fleet.taken.length).toBeLessThan(10);
});

test('an outcome that others must know is reported within moments, with what is on its way', async () => {
  const fleet = new Fleet();
  fleet.most = 2;
  const { result, look } = run(fleet, ['a', 'b', 'c']);
  await until(() => fleet.taken.length === 2, look);
  fleet.outcomes.set('a', { vm: 'a', end: 'failed' });
  look();
  const told = await result;
  expect(told.outcomes).toContainEqual({ vm: 'a', end: 'failed' });
  expect(told.begun.map(({ vm }) => vm)).toContain('b');
  // The next call continues with those, and begins with none of them again.
  const next = new Fleet();
  for (const name of 'bc') next.back.add(name);
  const { outcomes } = await run(next, ['b', 'c'], { begun: told.begun }).result;
  expect(next.taken).not.toContain('b');
  expect(outcomes).toHaveLength(2);
});

test('a VM that an earlier attempt has left half done is acted on again, and needs no room', async () => {
  const fleet = new Fleet((name) => name !== 'a');
  fleet.most = 0;
  const { result, look } = run(fleet, ['a']);
  await until(() => fleet.taken.length === 1, look);
  fleet.back.add('a');
  look();
  expect((await result).outcomes).toEqual([{ vm: 'a', end: 'done' }]);
});

test('a stopped wave begins no further VM, and follows those on their way', async () => {
  const fleet = new Fleet();
  const { result, look } = run(fleet, ['a', 'b']);
  await until(() => fleet.taken.length === 1, look);
  fleet.why = { stop: 'stopped', message: 'paused by anna' };
  look();
  const told = await result;
  expect(told).toEqual({
    outcomes: [{ vm: 'b', end: 'left', message: 'paused by anna' }],
    begun: [{ vm: 'a', since: expect.any(Number) as number }],
    isOver: false,
    idledMs: 0,
    minVersions: {},
  });
  expect(fleet.taken).toEqual(['a']);
});

test('a cancellation by the workflow completes what has begun, and waits for nothing else', async () => {
  const fleet = new Fleet();
  const acting = Promise.withResolvers<null>();
  fleet.instead.push(() => acting.promise);
  const { result, look, env } = run(fleet, ['a', 'b']);
  await until(() => fleet.taken.length === 1, look);
  env.cancel('CANCELLED');
  look();
  acting.resolve(null);
  expect((await result).outcomes.map(({ vm, end }) => `${vm} ${end}`).sort()).toEqual(['a left', 'b left']);
});

test('a wave ends only when its workflow wants something else while VMs wait for room', async () => {
  const fleet = new Fleet();
  fleet.most = 0;
  fleet.givenBack = () => null;
  const { result, look, env } = run(fleet, ['a']);
  await until(() => fleet.looks > 0, look);
  env.cancel('CANCELLED');
  expect(await result).toMatchObject({ outcomes: [], begun: [], isOver: false });
});

test('the remaining VMs are given back if nothing is on its way and no VM has room', async () => {
  const fleet = new Fleet();
  fleet.most = 0;
  const { outcomes } = await run(fleet, ['a', 'b']).result;
  expect(outcomes).toEqual(['a', 'b'].map((vm) => ({ vm, end: 'left', message: 'the disruption budget is used up' })));
  expect(fleet.taken).toEqual([]);
});

test('a refused claim and a server in trouble cost a VM its turn, and not its place in the batch', async () => {
  const fleet = new Fleet();
  fleet.instead.push(
    async () => new NotAdmitted('1 at a time'),
    () => Promise.reject(new KubeUnreachable('the connection broke')),
  );
  for (const name of 'ab') fleet.back.add(name);
  expect((await run(fleet, ['a', 'b']).result).outcomes).toHaveLength(2);
  expect(fleet.taken).toHaveLength(4);
});

test('any other error ends the wave', async () => {
  const fleet = new Fleet();
  fleet.instead.push(() => Promise.reject(new KubeError(422, 'Invalid', 'a fault of drover')));
  await expect(run(fleet, ['a']).result).rejects.toThrow('a fault of drover');
});

test('a wave with nothing to report says every ten minutes that it still waits, and for which VMs', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const fleet = new Fleet();
    let told: WaveResult<Outcome, Begun> | undefined;
    const { result, look } = run(fleet, ['a', 'b']);
    void result.then((found) => (told = found));
    await until(() => fleet.taken.length === 1, look);
    vi.setSystemTime(Date.now() + 590_000);
    const seen = fleet.looks;
    await until(() => fleet.looks > seen + 1, look);
    expect(told).toBeUndefined();
    vi.setSystemTime(Date.now() + 10_000);
    look();
    expect(await result).toMatchObject({ outcomes: [], begun: [{ vm: 'a' }] });
    expect(fleet.taken).toEqual(['a']);
  } finally {
    vi.useRealTimers();
  }
});

test('a report that others need is made at its time, though no VM has an outcome, and names the VMs that have begun', async () => {
  const fleet = new Fleet();
  fleet.dueAt = 0;
  const { result } = run(fleet, ['a', 'b']);
  expect(await result).toMatchObject({ outcomes: [], begun: [{ vm: 'a' }], isOver: false });
  expect(fleet.taken).toEqual(['a']);
});

test('a VM that waits for a known time is not given back before that', async () => {
  const fleet = new Fleet();
  fleet.most = 0;
  fleet.isTimed = true;
  const { result, look } = run(fleet, ['a'], { idleMs: 1 });
  await until(() => fleet.looks > 3, look);
  fleet.isTimed = false;
  look();
  expect(await result).toMatchObject({ isOver: true });
});

/** A look that takes so long that the next one comes long after the first acts have ended. */
class LargeFleet extends Fleet {
  override most = 20;
  override turn(...progress: Parameters<Fleet['turn']>): Turn<Vm> {
    for (const since = performance.now(); performance.now() - since < 20;);
    return super.turn(...progress);
  }
}
const names = Array.from({ length: 20 }, (_, index) => `vm-${index}`);

test('acts follow each other without a look between them, in order, and never more at once than may', async () => {
  const fleet = new LargeFleet();
  let [acting, most] = [0, 0];
  const act = async (): Promise<null> => {
    most = Math.max(most, ++acting);
    await setImmediate();
    acting--;
    return null;
  };
  fleet.instead.push(...names.map(() => act));
  const { result, look } = run(fleet, names);
  await until(
    () => fleet.taken.length === 20,
    () => {},
  );
  expect(fleet.looks).toBe(1);
  expect(fleet.taken).toEqual(names);
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(CONCURRENCY);
  names.forEach((name) => fleet.back.add(name));
  look();
  expect((await result).outcomes).toHaveLength(20);
});

test.each<[string, () => Promise<NotAdmitted | null>, ((wave: Run) => unknown)?]>([
  ['its workflow wants something else', async () => null, ({ env }) => env.cancel()],
  ['its worker stops', async () => null, ({ stop }) => stop()],
  ['a VM is refused its place', async () => new NotAdmitted('no room')],
  ['the API server is in trouble', () => Promise.reject(new KubeUnreachable('away'))],
  ['drover has a fault', () => Promise.reject(new KubeError(422, 'Invalid', 'a fault'))],
])('once %s, no VM is begun with that an earlier look has chosen', async (_, end, happen) => {
  const fleet = new LargeFleet();
  const held = Promise.withResolvers<void>();
  fleet.instead.push(...names.slice(0, 4).map(() => () => held.promise.then(end)));
  const wave = run(fleet, names);
  wave.result.catch(() => {});
  await until(() => fleet.taken.length === 4, wave.look);
  happen?.(wave);
  await setImmediate();
  const { looks } = fleet;
  held.resolve();
  await setImmediate();
  expect([fleet.looks, fleet.taken.length]).toEqual([looks, 4]);
  wave.env.cancel();
});

test('VMs that only wait leave their places to others, and take one again before they are acted on', async () => {
  const fleet = new LargeFleet();
  const claimed = Promise.withResolvers<null>();
  const names = Array.from({ length: 16 }, (_, index) => `vm-${index}`);
  let [acting, mostActing] = [0, 0];
  for (const _ of names)
    fleet.instead.push(async () => {
      await withoutPlace(claimed.promise);
      mostActing = Math.max(mostActing, ++acting);
      await setImmediate();
      acting--;
      return null;
    });
  const { result, look } = run(fleet, names);
  await until(() => fleet.taken.length === names.length, look);
  expect(fleet.looks).toBe(1);
  claimed.resolve(null);
  for (const name of names) fleet.back.add(name);
  let isOver = false;
  void result.then((found) => (isOver = found.isOver));
  await until(() => isOver, look);
  expect(mostActing).toBeLessThanOrEqual(CONCURRENCY);
  expect(mostActing).toBeGreaterThan(1);
});

test('so many VMs wait for their claims as can be acted on before these expire, and no more', async () => {
  const fleet = new Fleet();
  fleet.most = Infinity;
  const claimed = Promise.withResolvers<null>();
  const names = Array.from({ length: 100 }, (_, index) => `vm-${index}`);
  fleet.instead.push(...names.map(() => () => withoutPlace(claimed.promise)));
  const { result, look } = run(fleet, names);
  const looks = fleet.looks;
  await until(() => fleet.looks > looks + 5, look);
  const begun = fleet.taken.length;
  expect(begun).toBeGreaterThan(CONCURRENCY);
  expect(begun).toBeLessThanOrEqual(4 * CONCURRENCY);
  claimed.resolve(null);
  for (const name of names) fleet.back.add(name);
  let isOver = false;
  void result.then((found) => (isOver = found.isOver));
  await until(() => isOver, look);
  expect(fleet.taken).toHaveLength(names.length);
});

/** A wave that is not told of its turn looks again only after so long. */
const LOOK_AGAIN_MS = 30_000;

test(
  'waves of a worker begin so many acts together, one wave after the other, but the first act of each at once',
  { timeout: LOOK_AGAIN_MS / 2 },
  async () => {
    const acts = new ActsOfWaves(32);
    const answered = Promise.withResolvers<null>();
    const waves = Array.from({ length: 12 }, (_, wave) => {
      const fleet = new Fleet();
      fleet.most = Infinity;
      const names = Array.from({ length: 20 }, (_, index) => `vm-${wave}-${index}`);
      const contexts = new Set<Context>();
      fleet.instead.push(...names.map(() => () => (contexts.add(Context.current()), answered.promise)));
      // The first acts of the last ones are done at once: they have nothing in progress, and wait for the others.
      if (wave >= 8) fleet.instead[0] = () => (fleet.back.add(names[0]!), Promise.resolve(null));
      return { fleet, names, contexts, ...run(fleet, names, { acts, idleMs: 1 }) };
    });
    const looks = (): number[] => waves.map(({ fleet }) => fleet.looks);
    const begun = (): number[] => waves.map(({ fleet }) => fleet.taken.length);
    await until(
      () => begun().every((count) => count > 0),
      () => {},
    );
    // Each takes 4 at first.
    expect(begun()).toEqual([4, 4, 4, 4, 4, 4, 4, 4, 1, 1, 1, 1]);
    expect(acts.isFree('')).toBe(false);
    await until(
      () => looks().every((count) => count > 5),
      () => waves.forEach(({ look }) => look()),
    );
    // No look is due when places come free.
    for (let seen = ''; seen !== looks().join(); await setTimeout(50)) seen = looks().join();
    expect(begun()).toEqual([4, 4, 4, 4, 4, 4, 4, 4, 1, 1, 1, 1]);
    for (const { fleet, names } of waves) names.forEach((name) => fleet.back.add(name));
    answered.resolve(null);
    const ends = await Promise.all(waves.map(({ result }) => result));
    expect(
      ends.every(({ isOver, outcomes }) => isOver && outcomes.filter(({ end }) => end === 'done').length === 20),
    ).toBe(true);
    expect(acts.isFree('')).toBe(true);
    // Each act belongs to its wave's activity, and does not end with that of another.
    expect(new Set(waves.flatMap(({ contexts }) => [...contexts])).size).toBe(12);
    expect(waves.every(({ contexts }) => contexts.size === 1)).toBe(true);
  },
);

test('a wave whose windows are shorter than its deadline adds up the time that they are open, and ends', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const fleet = new Fleet();
    fleet.most = 0;
    const { result, look } = run(fleet, ['a'], { idleMs: 100_000 });
    let told: WaveResult<Outcome, Begun> | undefined;
    void result.then((found) => (told = found));
    let openMs = 0;
    const passes = async (isOpen: boolean, ms: number): Promise<void> => {
      fleet.isTimed = !isOpen;
      const from = fleet.looks;
      await until(() => told !== undefined || fleet.looks > from + 1, look);
      vi.setSystemTime(Date.now() + ms);
      if (isOpen) openMs += ms;
    };
    for (let nights = 0; nights < 6 && told === undefined; nights++) {
      await passes(true, 30_000);
      await passes(false, 40_000);
    }
    expect({ isOver: told?.isOver, openMs }).toEqual({ isOver: true, openMs: 120_000 });
  } finally {
    vi.useRealTimers();
  }
});

test('a wave that begins while no window is open does not count the time before it, in which no worker may have been', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const fleet = new Fleet();
    Object.assign(fleet, { most: 0, isTimed: true });
    const { result, look } = run(fleet, ['a'], { idleMs: 100_000, idledMs: 99_000 });
    let told: WaveResult<Outcome, Begun> | undefined;
    void result.then((found) => (told = found));
    for (let looks = 0; looks < 3; looks++) {
      const from = fleet.looks;
      vi.setSystemTime(Date.now() + 150_000);
      await until(() => told !== undefined || fleet.looks > from + 1, look);
      expect(told).toBeUndefined();
    }
    fleet.isTimed = false;
    vi.setSystemTime(Date.now() + 2_000);
    await until(
      () => told !== undefined,
      () => {
        vi.setSystemTime(Date.now() + 2_000);
        look();
      },
    );
    expect(told).toMatchObject({ isOver: true });
  } finally {
    vi.useRealTimers();
  }
});

test('VMs that are given back without an outcome stay to be done, and the wave says for how long it was idle', async () => {
  const fleet = new Fleet();
  fleet.givenBack = () => null;
  fleet.most = 0;
  const { result } = run(fleet, ['a'], { idleMs: 1_100, idledMs: 1_000 });
  expect(await result).toMatchObject({ outcomes: [], begun: [], isOver: true, minVersions: {} });
  expect((await result).idledMs).toBeGreaterThanOrEqual(1_100);
});

test('a cancellation during an act costs its VM nothing', async () => {
  const fleet = new Fleet();
  fleet.instead.push(() => Promise.reject(new CancelledFailure('the activity was asked to end')));
  fleet.back.add('a');
  expect((await run(fleet, ['a']).result).outcomes).toEqual([{ vm: 'a', end: 'done' }]);
});
