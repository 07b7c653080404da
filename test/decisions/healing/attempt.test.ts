import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HealingAttempt, type AttemptEnd, type RemovalEnd } from '../../../decisions/healing/attempt.ts';
import type { CycleNews, CycleRules, Hold, SickVm, Verdict } from '../../../decisions/healing/state.ts';

const NOW = Date.parse('2026-01-02T03:04:05Z');
const rules: CycleRules = { backoff: { initial: '1s', factor: 2, max: '1m', jitter: 0 }, maxAttempts: 3 };
const sick = { name: 'web-1', uid: 'old', attempt: 2, why: 'it is broken', rules, holdsData: false, earlyEnds: 0 };

const gone: Verdict = { verdict: 'Gone', attempt: 2, rules };
const well: Verdict = { verdict: 'Well', attempt: 2, uid: 'new' };
const sickAgain: Verdict = { ...sick, verdict: 'Sick', uid: 'new', attempt: 3, why: 'it is broken again' };
const left: Verdict = { verdict: 'Left', why: 'it is not to be healed' };

/** Runs an attempt until it waits for something that has not happened yet. */
class Led {
  readonly attempt: HealingAttempt;
  readonly news: CycleNews[] = [];
  removals = 0;
  now = NOW;
  end: AttemptEnd | null | undefined;
  readonly #steps: ReturnType<HealingAttempt['steps']>;
  readonly #removal: RemovalEnd;
  #wait: { holds: () => boolean; until: number | null } | null = null;

  constructor({
    hold = 'None',
    removal = { end: 'Removed', keptDisks: false },
    verdicts = [],
    more = {},
  }: { hold?: Hold; removal?: RemovalEnd; verdicts?: Verdict[]; more?: Partial<SickVm> } = {}) {
    this.attempt = new HealingAttempt({
      pool: 'pool',
      sick: { ...sick, ...more },
      hold,
      verdicts,
      now: () => this.now,
      chance: () => 0,
    });
    this.#steps = this.attempt.steps();
    this.#removal = removal;
    this.go();
  }

  /** Continues as far as possible. */
  go(): this {
    let removal: RemovalEnd | null = null;
    while (
      this.end === undefined &&
      (this.#wait === null || this.#wait.holds() || (this.#wait.until !== null && this.now >= this.#wait.until))
    ) {
      const { value, done } = this.#steps.next(removal);
      this.#wait = null;
      if (done === true) this.end = value;
      else if (value.step === 'Wait') this.#wait = value;
      else if (value.step === 'Tell') this.news.push(value.news);
      else {
        this.removals++;
        removal = this.#removal;
      }
    }
    return this;
  }

  tell(...verdicts: Verdict[]): this {
    for (const verdict of verdicts) this.attempt.tell(verdict);
    return this.go();
  }

  after(ms: number): this {
    this.now += ms;
    return this.go();
  }

  get phases(): string[] {
    return this.news.map((news) => (news.news === 'Stands' ? news.phase : news.news));
  }
}

test('it deletes the VM, waits until it is gone, then its delay, and then for what becomes of the new one', () => {
  const led = new Led();
  expect([led.removals, led.phases]).toEqual([1, []]);
  led.tell(gone);
  expect(led.news).toMatchObject([{ phase: 'Waiting', nextAt: new Date(NOW + 2_000).toISOString() }]);
  expect(led.after(1_999).attempt.mayBeMade).toBe(false);
  expect(led.after(1).attempt.mayBeMade).toBe(true);
  expect(led.phases).toEqual(['Waiting', 'Provisioning']);
  expect(led.tell(well).end).toEqual({ end: 'Healed', uid: 'new', why: 'it is broken' });
  expect(led.attempt.made).toBe(2);
});

test('a new VM that is sick as well is the next attempt’s, and at the most that are allowed it is given up', () => {
  const again = new Led().tell(gone).after(2_000).tell(sickAgain);
  expect(again.end).toBeNull();
  expect(again.attempt.next).toEqual({ ...sick, onSameDisks: 0, uid: 'new', attempt: 3, why: 'it is broken again' });
  const last = { ...sickAgain, rules: { ...rules, maxAttempts: 2 } };
  expect(new Led().tell(gone).after(2_000).tell(last).end).toEqual({
    end: 'GivenUp',
    uid: 'new',
    why: 'given up after 2 replacements: it is broken again',
  });
});

test('a VM that recovers before it is deleted is left alone', () => {
  const led = new Led({ hold: 'Removals' }).tell({ verdict: 'Well', attempt: 2, uid: 'old' });
  expect([led.removals, led.end]).toEqual([0, { end: 'Healed', uid: 'old', why: 'it runs well again' }]);
});

test('a VM that is no longer to be replaced when it comes to it is left as it is', () => {
  expect(new Led({ removal: { end: 'Kept', why: 'it runs again' } }).end).toEqual({
    end: 'Left',
    uid: 'old',
    why: 'it runs again',
  });
});

test.each<[Hold, boolean, boolean]>([
  ['None', true, true],
  ['Removals', false, true],
  ['All', false, false],
])(
  'where the pool holds back %s, a VM is deleted: %s, and one that was deleted comes back: %s',
  (hold, removes, comesBack) => {
    expect(new Led({ hold }).removals).toBe(removes ? 1 : 0);
    const led = new Led();
    led.attempt.hold = hold;
    expect(led.tell(gone).after(2_000).phases.includes('Provisioning')).toBe(comesBack);
    led.attempt.hurry();
    expect(led.go().phases).toContain('Provisioning');
  },
);

test('one whose deletion is refused ends, with why; nothing was replaced', () => {
  const led = new Led({ removal: { end: 'Refused', why: 'denied by a policy' } });
  expect([led.end, led.attempt.made]).toEqual([{ end: 'Refused', uid: 'old', why: 'denied by a policy' }, 1]);
});

/** An attempt on a VM that has been tried `onSameDisks` times on its disks, and is sick again. */
const onKept = (onSameDisks: number, maxAttempts: number | null, keptDisks = true): Led => {
  const own = { ...rules, maxAttempts };
  const led = new Led({ removal: { end: 'Removed', keptDisks }, more: { onSameDisks, rules: own } });
  return led
    .tell({ ...gone, rules: own })
    .after(60_000)
    .tell({ ...sickAgain, rules: own });
};

test('a VM that fails again and again on disks that are kept is given up after three, unless the pool says after how many', () => {
  expect(onKept(2, null).end).toEqual({
    end: 'GivenUp',
    uid: 'new',
    why: expect.stringMatching(
      /^given up after 3 replacements on the same disks, which are kept: .*it is broken again/,
    ) as string,
  });
  expect([onKept(1, null).end, onKept(1, null).attempt.next.onSameDisks]).toEqual([null, 2]);
  expect([onKept(2, 9).end, onKept(2, null, false).end]).toEqual([null, null]);
});

test('verdicts on another attempt change nothing: those on the last are late, those on the next are kept for it', () => {
  const led = new Led().tell({ ...gone, attempt: 1 }, { ...well, attempt: 1 }, { ...sickAgain, attempt: 2 });
  expect([led.phases, led.end]).toEqual([[], undefined]);
  const ahead: Verdict[] = [
    { ...gone, attempt: 3 },
    { ...well, attempt: 3 },
  ];
  expect(led.tell(...ahead).phases).toEqual([]);
  expect(led.attempt.later).toEqual(ahead);
  expect(new Led({ verdicts: [gone] }).phases).toEqual(['Waiting']);
});

test('of a VM that is skipped after it was deleted nobody but the pool knows the new one', () => {
  const early = new Led({ hold: 'All' });
  early.attempt.skip('skipped by ada');
  expect(early.go().end).toEqual({ end: 'Skipped', uid: 'old', why: 'skipped by ada' });
  const late = new Led().tell(gone);
  late.attempt.skip('skipped by ada');
  expect(late.go().end).toMatchObject({ end: 'Skipped', uid: '' });
  expect(late.attempt.ended(late.end!)).toMatchObject({ news: 'Ended', attempt: 2 });
});

test('it tells how it stands whenever it is asked, and goes on waiting', () => {
  const led = new Led();
  led.attempt.ask();
  expect(led.go().phases).toEqual(['Removing']);
  led.tell(gone).attempt.ask();
  expect(led.go().phases).toEqual(['Removing', 'Waiting', 'Waiting']);
  expect(led.after(2_000).phases.at(-1)).toBe('Provisioning');
});

const said = fc.oneof(
  fc.constantFrom<Verdict>(
    gone,
    well,
    sickAgain,
    left,
    { ...gone, attempt: 1 },
    { ...well, attempt: 1 },
    { ...well, uid: 'old' },
    { ...gone, attempt: 3 },
  ),
  fc.constantFrom('ask', 'hurry', 'skip'),
  fc.constantFrom<Hold>('None', 'Removals', 'All'),
  fc.constantFrom(1, 500, 2_000),
);

test('whatever it is told, it deletes at most one VM, makes none before that and its delay, and tells its phases in their order', () => {
  fc.assert(
    fc.property(fc.constantFrom<Hold>('None', 'Removals', 'All'), fc.array(said, { maxLength: 30 }), (hold, told) => {
      const led = new Led({ hold });
      let goneAt: number | null = null;
      let isHurried = false;
      for (const one of told) {
        if (led.end !== undefined) break;
        if (typeof one === 'number') led.after(one);
        else if (typeof one === 'object') led.attempt.tell(one);
        else if (one === 'ask') led.attempt.ask();
        else if (one === 'hurry') led.attempt.hurry();
        else if (one === 'skip') led.attempt.skip('skipped');
        else led.attempt.hold = one;
        isHurried ||= one === 'hurry';
        led.go();
        if (goneAt === null && led.phases.includes('Waiting')) goneAt = led.now;
        if (led.phases.includes('Provisioning') && !isHurried) expect(led.now).toBeGreaterThanOrEqual(goneAt! + 2_000);
      }
      expect(led.removals).toBeLessThanOrEqual(1);
      expect(led.attempt.made).toBe(1 + led.removals);
      const places = led.phases.map((phase) => ['Removing', 'Waiting', 'Provisioning'].indexOf(phase));
      expect(places).toEqual(places.toSorted((one, other) => one - other));
      if (led.end === null) expect(led.phases).toContain('Provisioning');
    }),
  );
});
