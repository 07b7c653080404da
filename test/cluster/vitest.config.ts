import { defineConfig } from 'vitest/config';
import { POLL } from '../poll.ts';
import { integrationTests } from './files.ts';

/**
 * Integration tests on a given cluster, one file at a time: each has a worker, and two workers would both manage the
 * same pools.
 */
export default defineConfig({
  test: {
    name: 'cluster',
    root: new URL('../..', import.meta.url).pathname,
    include: integrationTests().run,
    globalSetup: ['test/programs.ts'],
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 900_000,
    hookTimeout: 300_000,
    expect: { poll: POLL },
  },
});
