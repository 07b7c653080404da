import './world/real-code.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { play } from './play/play.ts';
import { anyScenario, underBudgets, withSteps, withSurge, type Scenario } from './random/scenarios.ts';
import { Journal } from './world/journal.ts';

/**
 * The same installations in every run of the suite, so that a failure comes from a change and not from chance;
 * `RUNS=1000` plays new ones each time.
 */
const FIXED = process.env['RUNS'] === undefined ? { seed: Number(process.env['SEED'] ?? 1) } : {};
/** Guarantees not to check, such as `G9,G11`: to look for other faults than a known one. */
const OFF = (process.env['MODEL_OFF'] ?? '').split(',');

/**
 * A failure names its seed, with which it can be repeated, and `SHRINK=1` reduces it. It lists the last events that led
 * to it, with `MODEL_TELLS=500` the last 500.
 */
test.each<[string, fc.Arbitrary<Scenario>, number?]>([
  ['people change their minds', anyScenario('wishes', 'wishes', 'rules', 'people')],
  [
    'templates stop VMs and change running ones',
    withSteps(anyScenario('powers', 'powers', 'people', 'rules', 'faults')),
  ],
  ['VMIs and disks fail', anyScenario('wishes', 'accidents', 'accidents', 'people')],
  ['workers are frozen, killed and cut off', anyScenario('wishes', 'wishes', 'faults', 'people')],
  ['nodes are drained', anyScenario('evictions', 'evictions', 'evictions', 'wishes', 'people', 'faults')],
  ['VMs are held for a while', anyScenario('holds', 'holds', 'holds', 'wishes', 'transitions', 'evictions', 'people')],
  ['machine types are changed', anyScenario('transitions', 'wishes', 'people', 'accidents', 'faults')],
  ['replica sets are changed while workers fail', anyScenario('sets', 'sets', 'sets', 'sets', 'sets', 'faults'), 18],
  [
    'extra VMs stand in for others',
    withSurge(anyScenario('wishes', 'wishes', 'surges', 'people', 'accidents', 'faults')),
    12,
  ],
  [
    'the API server refuses what workers ask for',
    withSurge(anyScenario('refusals', 'refusals', 'wishes', 'rules', 'surges', 'people', 'accidents', 'sets'), 1),
    12,
  ],
  [
    'strangers label VMs as what they are not',
    withSurge(anyScenario('labels', 'labels', 'labels', 'wishes', 'surges', 'rules', 'accidents', 'faults'), 1),
    8,
  ],
  [
    'VMs are under budgets that change',
    underBudgets(
      withSurge(
        anyScenario(
          'budgets',
          'budgets',
          'budgets',
          'budgets',
          'wishes',
          'evictions',
          'accidents',
          'faults',
          'transitions',
          'people',
          'sets',
        ),
        1,
      ),
    ),
    12,
  ],
  ['a backup is put back', anyScenario('restores', 'wishes', 'people', 'faults', 'sets')],
  [
    'workflows end and are put back',
    anyScenario(
      'ends',
      'ends',
      'rewinds',
      'rewinds',
      'wishes',
      'rules',
      'people',
      'transitions',
      'accidents',
      'faults',
      'sets',
    ),
    8,
  ],
  [
    'anything happens',
    anyScenario(
      'wishes',
      'wishes',
      'rules',
      'people',
      'transitions',
      'accidents',
      'evictions',
      'faults',
      'renewals',
      'sets',
      'ends',
    ),
  ],
])(
  'every guarantee holds, and every pool and set finally matches its spec, when %s',
  async (_what, scenarios, fixedRuns = 6) => {
    const runs = Number(process.env['RUNS'] ?? fixedRuns);
    await fc.assert(
      fc.asyncProperty(
        scenarios,
        async (scenario) =>
          void (await play(scenario, OFF, { strangers: scenario.seed % 2 === 0 && scenario.budgets === null })),
      ),
      { ...FIXED, numRuns: runs, endOnFailure: process.env['SHRINK'] === undefined },
    );
  },
  3_600_000,
);

const journalOf = async (scenario: Scenario, strangers: boolean | 'silent'): Promise<string[]> => {
  let journal: Journal | undefined;
  await play(scenario, OFF, { strangers, onlooker: (world) => (journal = new Journal(world)) });
  return journal!.lines;
};

test('objects that strangers put into another namespace change no plan and no write of the pools and sets of the first', async () => {
  const scenarios = withSurge(
    anyScenario('wishes', 'wishes', 'rules', 'people', 'transitions', 'accidents', 'evictions', 'faults', 'sets'),
    1,
  );
  const numRuns = Number(process.env['RUNS'] ?? 4);
  const alike = fc.asyncProperty(scenarios, async (scenario) => {
    const alone = await journalOf(scenario, 'silent');
    const beside = await journalOf(scenario, true);
    const at = alone.findIndex((line, index) => line !== beside[index]);
    expect(beside[at === -1 ? alone.length : at]).toBe(alone[at]);
  });
  await fc.assert(alike, { ...FIXED, numRuns, endOnFailure: process.env['SHRINK'] === undefined });
}, 3_600_000);
