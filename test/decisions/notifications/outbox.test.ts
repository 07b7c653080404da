import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NoticeType } from '../../../api/notifications/types.ts';
import {
  eventIdOf,
  KEEP_MS,
  Outbox,
  QUEUE_LENGTH,
  RETURNS_MS,
  type FoundNotice,
} from '../../../decisions/notifications/outbox.ts';

const WAITING: NoticeType = 'dev.drover.rollout.waiting';
const START = Date.UTC(2026, 0, 1);

const notice = (key: string, type: NoticeType = WAITING, since = START, to = ['ops']): FoundNotice => ({
  key,
  id: `${key}@${since - START}`,
  type,
  about: { kind: 'VirtualMachinePool', namespace: 'shop', name: key, uid: key },
  which: '',
  since: new Date(since).toISOString(),
  reason: 'Waiting',
  message: 'it waits',
  command: 'drover status',
  to,
});

/** A look that finds these, and nothing else. */
function look(outbox: Outbox, now: number, ...found: FoundNotice[]): ReturnType<Outbox['advance']> {
  const keys = new Set(outbox.keys);
  outbox.looked(
    {
      began: found.filter(({ key }) => !keys.has(key)),
      again: [],
      ended: [...keys].filter((key) => !found.some((one) => one.key === key)),
      receivers: ['ops'],
    },
    now,
  );
  return outbox.advance(now);
}

/** All that waits for a receiver, which takes it. */
function taken(outbox: Outbox, receiver = 'ops'): string[] {
  const ids = outbox.queue(receiver).map(eventIdOf);
  outbox.delivered(receiver, ids);
  return ids;
}

test('a state is told when it begins, and a minute after it has ended', () => {
  const outbox = new Outbox();
  look(outbox, START, notice('a'));
  expect(taken(outbox)).toEqual(['a@0']);
  look(outbox, START + 1_000, notice('a'));
  expect(taken(outbox)).toEqual([]);
  look(outbox, START + 2_000);
  expect([taken(outbox), outbox.nextAt(START + 2_000)]).toEqual([[], START + 2_000 + RETURNS_MS]);
  outbox.advance(START + 2_000 + RETURNS_MS);
  expect([taken(outbox), outbox.isEmpty]).toEqual([['a@0-ended'], true]);
});

test('a state that ends and returns within a minute is not told twice, however often it does that', () => {
  const outbox = new Outbox();
  const told: string[] = [];
  for (let n = 0; n < 20; n++) {
    look(outbox, START + n * 60_000, notice('a', WAITING, START + n * 60_000));
    told.push(...taken(outbox));
    look(outbox, START + n * 60_000 + 10_000);
    told.push(...taken(outbox));
  }
  expect(told).toEqual(['a@0']);
});

test('a budget must be full for an hour, by the time in the status, and is not told if it ends before', () => {
  const outbox = new Outbox();
  const full = notice('a', 'dev.drover.budget.full', START);
  look(outbox, START + 600_000, full);
  expect([taken(outbox), outbox.nextAt(START + 600_000)]).toEqual([[], START + 3_600_000]);
  // Another run of the workflow knows as much.
  const next = new Outbox(structuredClone(outbox.state));
  next.advance(START + 3_600_000);
  expect(taken(next)).toEqual(['a@0']);
  expect(look(outbox, START + 3_599_000)).toEqual([]);
  expect([outbox.advance(START + 9_999_000), taken(outbox), outbox.isEmpty]).toEqual([[], [], true]);
});

test('an event is told once, has no end, and is remembered while it can be seen', () => {
  const outbox = new Outbox();
  const gone = notice('a', 'dev.drover.vm.givenup');
  look(outbox, START, gone);
  look(outbox, START + 1_000, gone);
  expect(taken(outbox)).toEqual(['a@0']);
  expect(outbox.state.known).toEqual({ a: null });
  look(outbox, START + 2_000);
  expect([taken(outbox), outbox.isEmpty]).toEqual([[], true]);
});

test('a receiver that is new hears of what holds already', () => {
  const outbox = new Outbox();
  look(outbox, START, notice('a'));
  taken(outbox);
  const again = notice('a', WAITING, START, ['pager']);
  outbox.looked({ began: [], again: [again], ended: [], receivers: ['ops', 'pager'] }, START + 1_000);
  outbox.advance(START + 1_000);
  expect([taken(outbox, 'ops'), taken(outbox, 'pager')]).toEqual([[], ['a@0']]);
  look(outbox, START + 2_000);
  outbox.advance(START + 2_000 + RETURNS_MS);
  expect([taken(outbox, 'ops'), taken(outbox, 'pager')]).toEqual([['a@0-ended'], ['a@0-ended']]);
});

test('a storm fills no queue beyond its length, and all that still holds is told once there is room', () => {
  const outbox = new Outbox();
  const all = Array.from({ length: 1_000 }, (_, n) => notice(`p${n}`));
  expect(look(outbox, START, ...all)).toEqual([]);
  expect(outbox.capacity).toBe(0);
  const told: string[] = [];
  while (outbox.queue('ops').length > 0) {
    expect(outbox.queue('ops').length).toBeLessThanOrEqual(QUEUE_LENGTH);
    told.push(...taken(outbox));
    outbox.advance(START);
  }
  expect(new Set(told).size).toBe(1_000);
  expect(JSON.stringify(outbox.state).length).toBeLessThan(600_000);
});

test('a notice that ends before a receiver had room for it, or waits for a day, is dropped and reported', () => {
  const outbox = new Outbox();
  const all = Array.from({ length: QUEUE_LENGTH + 1 }, (_, n) => notice(`p${n}`));
  look(outbox, START, ...all);
  look(outbox, START + 1_000, ...all.slice(0, -1));
  expect(outbox.advance(START + 1_000 + RETURNS_MS)).toMatchObject([
    { receiver: 'ops', notices: [{ about: { name: `p${QUEUE_LENGTH}` } }] },
  ]);
  const [dropped] = outbox.advance(START + KEEP_MS);
  expect(dropped!.notices).toHaveLength(QUEUE_LENGTH);
  expect(outbox.queue('ops')).toEqual([]);
});

test('a receiver that takes nothing for days keeps nothing from others', () => {
  const outbox = new Outbox();
  for (let n = 0; n < 3_000; n++) {
    const now = START + n * 2 * RETURNS_MS;
    look(outbox, now, notice(`p${n}`, WAITING, now, ['dead', 'ops']));
    expect(taken(outbox, 'ops')).toContain(`p${n}@${now - START}`);
    expect(outbox.queue('dead').length).toBeLessThanOrEqual(QUEUE_LENGTH);
  }
});

test('a receiver that no longer exists is forgotten', () => {
  const outbox = new Outbox();
  look(outbox, START, notice('a', WAITING, START, ['ops', 'old']));
  outbox.forget('old');
  expect(outbox.waiting).toEqual(['ops']);
  look(outbox, START + 1);
  outbox.advance(START + 1 + RETURNS_MS);
  expect(outbox.queue('old')).toEqual([]);
});

test('whatever comes and goes, each beginning is told once before its end, and nothing is told twice', () => {
  const anyLooks = fc.array(
    fc.record({
      afterMs: fc.oneof(fc.integer({ min: 1, max: 5_000 }), fc.integer({ min: 30_000, max: 200_000 })),
      holds: fc.subarray(['a', 'b', 'c']),
      isTaken: fc.boolean(),
      isNewRun: fc.boolean(),
    }),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(anyLooks, (looks) => {
      let outbox = new Outbox();
      let now = START;
      const since = new Map<string, number>();
      const told: string[] = [];
      const ended = new Map<string, number>();
      for (const { afterMs, holds, isTaken, isNewRun } of looks) {
        now += afterMs;
        if (isNewRun) outbox = new Outbox(structuredClone(outbox.state));
        for (const key of [...since.keys()].filter((one) => !holds.includes(one))) {
          since.delete(key);
          ended.set(key, now);
        }
        for (const key of holds) if (!since.has(key)) since.set(key, now);
        look(outbox, now, ...holds.map((key) => notice(key, WAITING, since.get(key))));
        if (isTaken) told.push(...taken(outbox));
      }
      now += RETURNS_MS;
      look(outbox, now);
      outbox.advance(now + RETURNS_MS);
      told.push(...taken(outbox));
      expect(new Set(told).size).toBe(told.length);
      for (const id of told.filter((one) => !one.endsWith('-ended'))) {
        const [key] = id.split('@');
        const end = told.indexOf(`${id}-ended`);
        expect(end).toBeGreaterThan(told.indexOf(id));
        // Nothing else of this key is told in between.
        const between = told.slice(told.indexOf(id) + 1, end);
        expect(between.filter((one) => one.startsWith(`${key}@`))).toEqual([]);
      }
      expect(told.filter((one) => one.endsWith('-ended')).length * 2).toBe(told.length);
      expect(outbox.isEmpty).toBe(true);
    }),
  );
});
