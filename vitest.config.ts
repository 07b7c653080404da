import { defineConfig } from 'vitest/config';

/** Tests that start servers run one file after another: two of them at once would starve a small machine. */
export default defineConfig({
  test: {
    projects: [
      {
        test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: ['test/**/*.int.test.ts'], testTimeout: 30_000 },
      },
      {
        test: {
          name: 'servers',
          include: ['test/**/*.int.test.ts'],
          globalSetup: ['test/tools-first.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
