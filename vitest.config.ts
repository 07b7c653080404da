import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { defaultCache } from './dev/paths.ts';
import { ONLY_IN_ALL } from './test/only-in-all.ts';
import { POLL } from './test/poll.ts';

/** Files that take the longest begin first, or the end would wait for them. */
const LONG = [
  /-(crash|chaos|command)\./,
  /\/(fleet|rollouts|guarantees|command-line)\.test\./,
  /\/(takeover|demo|image|rollout-control|healing-control|disruption-budget)\.int\./,
];
/** Files that wait more than they work, longest first: several at once would leave the CPU idle. */
const WAITING = [
  /\/servers\/(crash|cut-off)\.int\./,
  /\/clients\/machine-types\/commands\.int\./,
  /\/machine-types\/machine-types\.int\./,
  /\/(surge|replica-set-refusal|replica-set-crash|configuration|configuration-crash|two-clusters)\.int\./,
  /\/workflows\/.*\.int\./,
  /\/simulator\/.*\.int\./,
];
/** One of this many files in a row waits. */
const ONE_OF = 4;

/** Returns what fleet a file asks for; nothing of a file that starts servers itself, which takes long as well. */
const fleetOf = ({ moduleId }: TestSpecification): string =>
  /\baFleet(\(.*\));/.exec(readFileSync(moduleId, 'utf8'))?.[1] ?? '';

/** Returns the files that one of these patterns fits, and the others. */
function split(files: TestSpecification[], patterns: readonly RegExp[]): [TestSpecification[], TestSpecification[]] {
  const fits = ({ moduleId }: TestSpecification): boolean => patterns.some((one) => one.test(moduleId));
  return [files.filter(fits), files.filter((file) => !fits(file))];
}

/**
 * After the longest, files with the same fleet follow each other: a file leaves it to the next of its process. Those
 * without a simulator come last, because a change costs a start of Temporal.
 */
function longestFirst(files: TestSpecification[]): TestSpecification[] {
  const [long, others] = split(files, LONG);
  const byFleet = [...Map.groupBy(others, fleetOf)].toSorted(([one], [other]) => one.localeCompare(other));
  const [without, simulated] = [true, false].map((is) =>
    byFleet.filter(([fleet]) => fleet.includes('simulator: false') === is).flatMap(([, same]) => same),
  );
  return [...long, ...simulated!, ...without!];
}

/** Returns the files in the order of the patterns that fit them. */
const inOrderOf = (patterns: readonly RegExp[], files: TestSpecification[]): TestSpecification[] =>
  patterns.flatMap((pattern) => split(files, [pattern])[0]);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const [servers, units] = split(await super.sort(files), [/\.int\.test\.ts$/]);
    const [waiting, working] = split(servers, WAITING);
    const sorted = longestFirst(working);
    for (const [index, file] of inOrderOf(WAITING, waiting).entries()) sorted.splice(index * ONE_OF, 0, file);
    return [...longestFirst(units), ...sorted];
  }
}

/** Servers of tests live for minutes: they may keep more garbage, which saves an eighth of their CPU. */
process.env['GOGC'] ??= '400';
/** Tests start hundreds of commands and workers: each finds what Node has made of the code before. */
process.env['NODE_COMPILE_CACHE'] ??= join(defaultCache(), 'compiled');

/**
 * Files that start servers run five at a time, after the others: they wait more than they work, and more of them would
 * starve a small machine.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // A snapshot that is not there fails its test: only --update writes any.
    update: 'none',
    // Code on huge pages takes a tenth less CPU in a virtual machine, where a page is slow to find.
    execArgv: ['--use-largepages=silent'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.int.test.ts'],
          // A unit test takes milliseconds, the model and replays seconds: many times that on a busy machine.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // Evaluating its modules again for each file took a fifth of the CPU: see test/own-modules.ts.
          isolate: false,
          sequence: { groupOrder: 0 },
          // Half of the cores, by default. One more than cores makes up for the tests that wait.
          maxWorkers: availableParallelism() + 1,
          expect: { poll: POLL },
        },
      },
      {
        test: {
          name: 'servers',
          include: ['test/**/*.int.test.ts'],
          exclude: process.env['DROVER_TEST_SHORT'] === undefined ? [] : ONLY_IN_ALL,
          globalSetup: ['test/servers-first.ts'],
          // Files that follow each other in a process share its modules and its fleet.
          isolate: false,
          sequence: { groupOrder: 1 },
          maxWorkers: 5,
          testTimeout: 300_000,
          hookTimeout: 300_000,
          expect: { poll: POLL },
        },
      },
    ],
  },
});
