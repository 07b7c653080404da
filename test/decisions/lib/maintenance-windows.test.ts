import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { durationMs } from '../../../api/lib/duration.ts';
import type { MaintenanceWindow } from '../../../api/pool/pool.ts';
import { everMeet, windowAt, windowFaults, type WindowState } from '../../../decisions/lib/maintenance-windows.ts';

const MINUTE = 60_000;
const at = (time: string): number => Date.parse(time);
const inWords = (state: WindowState): string => {
  const time = state.open ? state.until : state.next;
  return `${state.open ? 'open until' : 'closed until'} ${time === null ? 'for ever' : new Date(time).toISOString().slice(5, 16)}`;
};
const stateAt = (windows: MaintenanceWindow | MaintenanceWindow[], time: string): string =>
  inWords(windowAt([windows].flat(), at(time)));

/** A field of a cron expression, and the numbers that it matches. */
interface Field {
  text: string;
  means: ReadonlySet<number>;
}
const span = (from: number, to: number, step = 1): number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);
const field = (least: number, most: number): fc.Arbitrary<Field> => {
  const number = fc.integer({ min: least, max: most });
  return fc.oneof(
    fc.constant({ text: '*', means: new Set(span(least, most)) }),
    number.map((one) => ({ text: String(one), means: new Set([one]) })),
    fc.tuple(number, number).map(([one, other]) => {
      const [from, to] = [Math.min(one, other), Math.max(one, other)];
      return { text: `${from}-${to}`, means: new Set(span(from, to)) };
    }),
    fc
      .uniqueArray(number, { minLength: 2, maxLength: 4 })
      .map((list) => ({ text: list.join(','), means: new Set(list) })),
    fc.integer({ min: 2, max: most }).map((step) => ({ text: `*/${step}`, means: new Set(span(least, most, step)) })),
  );
};
const ANY = { text: '*', means: new Set<number>() };

interface Plain {
  fields: [minute: Field, hour: Field, day: Field, month: Field, weekday: Field];
  minutes: number;
}
/** At most one of the two day fields is set: how they combine is up to cron. */
const plain: fc.Arbitrary<Plain> = fc
  .record({
    fields: fc.tuple(
      field(0, 59),
      field(0, 23),
      fc.oneof(fc.constant(ANY), field(1, 31)),
      fc.oneof({ weight: 4, arbitrary: fc.constant(ANY) }, { weight: 1, arbitrary: field(1, 12) }),
      fc.oneof(fc.constant(ANY), field(0, 6)),
    ),
    minutes: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 30, max: 3000 })),
  })
  .map(({ fields: [minute, hour, day, month, weekday], minutes }) => ({
    fields: [minute, hour, day, month, day === ANY ? weekday : ANY],
    minutes,
  }));

const windowOf = ({ fields, minutes }: Plain): MaintenanceWindow => ({
  cron: fields.map(({ text }) => text).join(' '),
  duration: `${minutes}m`,
});
/** `local`: a wall clock time, as if it were UTC. */
const opensAt = ({ fields }: Plain, local: number): boolean => {
  const time = new Date(local);
  const parts = [time.getUTCMinutes(), time.getUTCHours(), time.getUTCDate(), time.getUTCMonth() + 1, time.getUTCDay()];
  return fields.every(({ text, means }, index) => text === '*' || means.has(parts[index]!));
};

/** Whether a window is open in each minute from `from` on, computed from all minutes before. */
function openMinutes(
  windows: readonly Plain[],
  from: number,
  count: number,
  localOf = (time: number) => time,
): boolean[] {
  const open = Array.from({ length: count }, () => false);
  for (const window of windows) {
    let left = 0;
    for (let minute = -window.minutes; minute < count; minute++) {
      if (opensAt(window, localOf(from + minute * MINUTE))) left = window.minutes;
      if (left > 0 && minute >= 0) open[minute] = true;
      left--;
    }
  }
  return open;
}

describe('a window at a time', () => {
  it('is always open without windows', () => {
    expect(windowAt([], at('2026-06-01T00:00Z'))).toEqual({ open: true, until: null });
  });

  it.each([
    ['2026-06-01T21:59:59.999Z', 'closed until 06-01T22:00'],
    ['2026-06-01T22:00Z', 'open until 06-02T04:00'],
    ['2026-06-02T03:59:59.999Z', 'open until 06-02T04:00'],
    ['2026-06-02T04:00Z', 'closed until 06-02T22:00'],
    ['2026-06-06T05:00Z', 'closed until 06-08T22:00'],
  ])('is UTC if no time zone is named: %s', (time, state) => {
    expect(stateAt({ cron: '0 22 * * 1-5', duration: '6h' }, time)).toBe(state);
  });

  it('agrees with a look at each minute, in UTC', () => {
    const time = fc.integer({ min: at('2024-01-01T00:00Z') / MINUTE, max: at('2028-12-31T00:00Z') / MINUTE });
    fc.assert(
      fc.property(fc.array(plain, { minLength: 1, maxLength: 3 }), time, fc.nat(MINUTE - 1), (windows, minute, ms) => {
        const now = minute * MINUTE;
        const seen = openMinutes(windows, now, 5000);
        const state = windowAt(windows.map(windowOf), now + ms);
        expect(state.open).toBe(seen[0]);
        const first = seen.indexOf(!state.open);
        if (!state.open && first > 0) expect(state.next).toBe(now + first * MINUTE);
        // `until` may be too early if many windows follow each other.
        if (state.open && first > 0) expect(state.until).toBeLessThanOrEqual(now + first * MINUTE);
        if (state.open) expect(state.until).toBeGreaterThan(now + ms);
      }),
      { numRuns: 300 },
    );
  });

  it('agrees with a look at each minute if clocks change, for crons that come every hour', () => {
    const changes = [at('2026-03-29T01:00Z'), at('2026-10-25T01:00Z')] as const;
    const local = (time: number): number => time + (time >= changes[0] && time < changes[1] ? 120 : 60) * MINUTE;
    const hourly = plain.map(({ fields: [minute, , ...days], minutes }): Plain => {
      const hour = { text: '*', means: new Set(span(0, 23)) };
      return { fields: [minute, hour, ...days], minutes };
    });
    fc.assert(
      fc.property(
        hourly,
        fc.constantFrom(...changes),
        fc.integer({ min: -300, max: 300 }),
        (window, change, minutes) => {
          const now = change + minutes * MINUTE;
          const seen = openMinutes([window], now, 300, local);
          const state = windowAt([{ ...windowOf(window), timeZone: 'Europe/Zurich' }], now);
          expect(state.open).toBe(seen[0]);
          const first = seen.indexOf(true);
          if (!state.open && first > 0) expect(state.next).toBe(now + first * MINUTE);
        },
      ),
      { numRuns: 300 },
    );
  });

  describe('in Europe/Zurich', () => {
    const night = { cron: '30 2 * * *', duration: '2h', timeZone: 'Europe/Zurich' };

    it.each([
      ['winter', '2026-01-10T01:29Z', 'closed until 01-10T01:30'],
      ['winter', '2026-01-10T01:30Z', 'open until 01-10T03:30'],
      ['summer', '2026-07-10T00:29Z', 'closed until 07-10T00:30'],
      ['summer', '2026-07-10T00:30Z', 'open until 07-10T02:30'],
      // 02:00 becomes 03:00: there is no 02:30, and the window opens at 03:00.
      ['the clock jumps ahead', '2026-03-29T00:59Z', 'closed until 03-29T01:00'],
      ['the clock jumps ahead', '2026-03-29T01:00Z', 'open until 03-29T03:00'],
      ['the clock jumps ahead', '2026-03-29T03:00Z', 'closed until 03-30T00:30'],
      // 03:00 becomes 02:00: 02:30 comes twice, and the window opens the first time.
      ['the clock falls back', '2026-10-25T00:29Z', 'closed until 10-25T00:30'],
      ['the clock falls back', '2026-10-25T00:30Z', 'open until 10-25T02:30'],
      ['the clock falls back', '2026-10-25T02:30Z', 'closed until 10-26T01:30'],
    ])('%s: at %s a window from 02:30 on is %s', (_, time, state) => {
      expect(stateAt(night, time)).toBe(state);
    });

    it('lasts for its duration in elapsed time across a change', () => {
      const evening = { cron: '0 22 * * *', duration: '6h', timeZone: 'Europe/Zurich' };
      expect(stateAt(evening, '2026-03-29T00:30Z')).toBe('open until 03-29T03:00');
      expect(stateAt(evening, '2026-10-25T00:30Z')).toBe('open until 10-25T02:00');
    });

    it('opens once for each time of a list, also on these days', () => {
      const twice = { cron: '30 2,14 * * *', duration: '10m', timeZone: 'Europe/Zurich' };
      expect(stateAt(twice, '2026-03-29T00:00Z')).toBe('closed until 03-29T01:00');
      expect(stateAt(twice, '2026-10-25T00:00Z')).toBe('closed until 10-25T00:30');
      expect(stateAt(twice, '2026-10-25T01:30Z')).toBe('closed until 10-25T13:30');
    });
  });

  it('is open while any of its windows is', () => {
    const windows = [
      { cron: '0 1 * * *', duration: '2h' },
      { cron: '0 2 * * *', duration: '30m' },
      { cron: '0 3 * * *', duration: '1h' },
      { cron: '30 4 * * *', duration: '1h' },
    ];
    expect(stateAt(windows, '2026-06-01T01:30Z')).toBe('open until 06-01T04:00');
    expect(stateAt(windows, '2026-06-01T04:00Z')).toBe('closed until 06-01T04:30');
    expect(stateAt(windows, '2026-06-01T05:30Z')).toBe('closed until 06-02T01:00');
  });

  it.each([
    { cron: '0 * * * *', duration: '1h' },
    { cron: '0 0 * * *', duration: '30h' },
    { cron: '0 0 1 * *', duration: '800h' },
  ])('is always open if %j lasts until it opens again', (window) => {
    for (let day = 0; day < 400; day += 3.7) {
      const now = at('2026-01-01T00:00Z') + day * 24 * 60 * MINUTE;
      const state = windowAt([window], now);
      expect(state.open && state.until! - now).toBeGreaterThanOrEqual(durationMs(window.duration));
    }
  });

  it('knows when none opens any more', () => {
    expect(windowAt([{ cron: '0 0 30 2 *', duration: '1h' }], at('2026-06-01T00:00Z'))).toEqual({
      open: false,
      next: null,
    });
  });

  it('skips windows that it cannot read, and says which', () => {
    const windows = [
      { cron: '0 25 * * *', duration: '1h' },
      { cron: '0 0 * * *', duration: '1h', timeZone: 'Europe/Zurch' },
      { cron: '0 5 * * *', duration: '1h' },
    ];
    expect(stateAt(windows, '2026-06-01T00:30Z')).toBe('closed until 06-01T05:00');
    expect(stateAt(windows.slice(0, 2), '2026-06-01T00:30Z')).toBe('closed until for ever');
    expect(windowFaults(windows, 'spec.rollout.windows')).toEqual([
      'spec.rollout.windows[0]: hour 25 is not understood: write 0 to 23, a list (2,4), a rising range (2-4) or a step (*/2)',
      'spec.rollout.windows[1]: Europe/Zurch is not a time zone; did you mean Europe/Zurich?',
    ]);
  });

  it('gives the same answer again, however many others were asked for meanwhile', () => {
    const windows = [{ cron: '0 22 * * 1-5', duration: '6h', timeZone: 'Europe/Zurich' }];
    const before = stateAt(windows, '2026-06-01T12:00Z');
    for (let minute = 0; minute < 60; minute++) {
      for (const duration of ['1h', '2h']) windowAt([{ cron: `${minute} 1 * * *`, duration }], at('2026-06-01T12:00Z'));
    }
    expect(stateAt(windows, '2026-06-01T12:00Z')).toBe(before);
  });
});

const opens = (cron: string, duration = '1h', timeZone = 'UTC') => [{ cron, duration, timeZone }];

describe('two sets of windows', () => {
  it.each<[string, MaintenanceWindow[], MaintenanceWindow[], boolean]>([
    ['at the same time', opens('0 3 * * *'), opens('0 3 * * *'), true],
    ['one after the other', opens('0 3 * * *'), opens('0 4 * * *'), false],
    ['that overlap for a minute', opens('0 3 * * *', '61m'), opens('0 4 * * *'), true],
    ['on different days', opens('0 3 * * 1'), opens('0 3 * * 2', '2h'), false],
    ['that overlap on one day of the year', opens('0 3 24 12 *'), opens('0 3 * * *'), true],
    ['in time zones that differ', opens('0 22 * * *', '2h', 'America/New_York'), opens('0 4 * * *', '1h'), true],
    ['of which one never opens', opens('0 3 30 2 *'), opens('* * * * *'), false],
    ['that open each minute', opens('* * * * *', '1s'), opens('* * * * *', '1s', 'Asia/Tokyo'), true],
  ])('%s meet or do not', (_, one, other, meet) => {
    const now = at('2026-01-01T12:00:00Z');
    expect([everMeet(one, other, now), everMeet(other, one, now)]).toEqual([meet, meet]);
  });
});
