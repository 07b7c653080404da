import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  contendedCondition,
  isContended,
  NO_CONTENTION,
  sawForeign,
  yieldsToOthers,
} from '../../../decisions/pool/contention.ts';

const NOW = 10_000_000;
const MINUTE = 60_000;

const after = (times: readonly number[], random = 0) =>
  times.reduce((known, at) => sawForeign(known, at, random), NO_CONTENTION);

test('a status from before a restore of Temporal is not contention, and neither are a few far apart', () => {
  for (const times of [[NOW], [NOW, NOW], [NOW, NOW + 5 * MINUTE, NOW + 10 * MINUTE]]) {
    const known = after(times);
    expect([isContended(known, times.at(-1)!), known.asideUntil]).toEqual([false, 0]);
  }
});

test('an installation that is sawForeign again and again stands aside, and longer while that lasts', () => {
  const known = after([NOW, NOW + 1, NOW + 2]);
  expect([isContended(known, NOW + 2), known.asideUntil]).toEqual([true, NOW + 2 + 30_000]);
  expect(sawForeign(known, NOW + MINUTE, 1).asideUntil).toBe(NOW + MINUTE + 90_000);
  expect(isContended(known, NOW + 10 * MINUTE)).toBe(false);
});

/** One of two workflows that write the status of the same pool, and what it knows of the writes. */
class Installation {
  known = NO_CONTENTION;
  acts = 0;
  #seen = 0;

  /** Plans: what it wants to begin, it puts on record first. */
  plan(record: { writes: number; by?: Installation }, now: number, random: number): void {
    if (this.known.asideUntil > now) return;
    const isForeign = record.writes > this.#seen && record.by !== this;
    if (!isForeign || !yieldsToOthers(this.known, now)) Object.assign(record, { writes: record.writes + 1, by: this });
    this.#seen = record.writes;
    if (isForeign) this.known = sawForeign(this.known, now, random);
    if (this.known.asideUntil <= now) this.acts++;
  }
}

test('of two installations that plan at any times, one acts again and again while the other stands aside', () => {
  const times = fc.infiniteStream(fc.record({ wait: fc.nat(1_000), which: fc.nat(1), random: fc.nat(99) }));
  fc.assert(
    fc.property(times, (stream) => {
      const [record, both] = [{ writes: 0 }, [new Installation(), new Installation()]];
      for (let now = NOW; now < NOW + 10 * MINUTE;) {
        const { wait, which, random } = stream.next().value;
        both[which]!.plan(record, now, random / 100);
        now += wait;
      }
      const acts = both.map((installation) => installation.acts);
      expect(Math.max(...acts)).toBeGreaterThan(100);
    }),
  );
});

test('the condition names the mistake', () => {
  expect(contendedCondition({})).toEqual([]);
  expect(contendedCondition({ isContended: true })).toMatchObject([
    { type: 'Contended', status: 'True', reason: 'AnotherInstallation' },
  ]);
});
