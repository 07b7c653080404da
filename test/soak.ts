import { inject, test, type TestOptions } from 'vitest';
import { seeded, seedOf } from './seeded.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Seed that chooses what takes turns across files; undefined on a given cluster, where all of it runs. */
    turn: number | undefined;
  }
}

/** True in `npm run test:long`, which runs all tests on servers, and those of crashes and chaos at full length. */
export const isSoak = process.env['DROVER_TEST_SOAK'] !== undefined;

/** Returns a size of a test, or a time: the short one unless this is a soak run. */
export const soak = <T>(full: T, short: T): T => (isSoak ? full : short);

/**
 * Declares a test of a rule that a faster test proves as well: a unit test, the model, or one that skips time. It shows
 * that the rule holds on the real servers too, and runs in a soak run only.
 */
export const soakTest = isSoak ? test : test.skip;

/** Returns all of these in a soak run, and otherwise so many, which `random` chooses. */
export const some = <T>(all: readonly T[], count: number, random: () => number): readonly T[] =>
  isSoak
    ? all
    : all
        .map((one) => ({ one, place: random() }))
        .toSorted((a, b) => a.place - b.place)
        .slice(0, count)
        .map(({ one }) => one);

/** Returns all of these in a soak run, and otherwise one, which the seed chooses: over many runs each has its turn. */
export const sample = <T>(all: readonly T[]): readonly T[] => some(all, 1, seeded(seedOf()));

/** Declares these tests: a soak run runs all, any other the one that the seed chooses. */
export function testOneOf(tests: Record<string, () => Promise<void>>, options: TestOptions = {}): void {
  const chosen = sample(Object.keys(tests));
  for (const [name, run] of Object.entries(tests)) (chosen.includes(name) ? test : test.skip)(name, options, run);
}

/** Features in the middle of which a worker is killed, by the model and by a test on servers of their own. */
const CRASHES = [
  'corrections of drift',
  'drains',
  'kept disks',
  'promotions',
  'removals by name',
  'restarts',
  'starts',
  'surge',
] as const;
const CRASHES_IN_A_RUN = 4;

/**
 * Returns `test` for the crash test of a feature whose turn it is, and `test.skip` for any other. The model kills
 * workers in the middle of all of these features; a soak run, and a run on a given cluster, run all of their tests.
 */
export function crashTest(of: (typeof CRASHES)[number]): typeof test | typeof test.skip {
  const turn = inject('turn');
  const chosen = turn === undefined ? CRASHES : some(CRASHES, CRASHES_IN_A_RUN, seeded(turn));
  return chosen.includes(of) ? test : test.skip;
}
