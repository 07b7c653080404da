import { defineConfig } from 'vitest/config';

/** Files that start servers run two at a time, after the others: they wait more than they work, and more of them would starve a small machine. */
export default defineConfig({
  test: {
    projects: [
      {
        test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: ['test/**/*.int.test.ts'], testTimeout: 30_000, sequence: { groupOrder: 0 } },
      },
      {
        test: {
          name: 'servers',
          include: ['test/**/*.int.test.ts'],
          globalSetup: ['test/tools-first.ts'],
          sequence: { groupOrder: 1 },
          maxWorkers: 2,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
