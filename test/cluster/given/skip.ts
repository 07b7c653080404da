import { appendFileSync } from 'node:fs';
import { TestRunner } from 'vitest';
import { givenCluster } from './given.ts';

export interface Skip {
  file: string;
  test: string;
  reason: string;
}

/** Leaves the test that runs as skipped, and the reason for the report. */
export function skip(reason: string): never {
  const test = TestRunner.getCurrentTest();
  if (test === undefined) throw new Error(`outside a test: ${reason}`);
  const note: Skip = { file: test.file.name, test: test.fullTestName, reason };
  appendFileSync(givenCluster()!.skips, `${JSON.stringify(note)}\n`);
  return test.context.skip(reason);
}

export const isSkip = (error: unknown): boolean => (error as { code?: string } | null)?.code === 'VITEST_PENDING';
