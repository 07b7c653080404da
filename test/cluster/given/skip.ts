import { appendFileSync } from 'node:fs';
import { TestRunner } from 'vitest';
import { givenCluster } from './given.ts';

export interface Skip {
  file: string;
  test: string;
  reason: string;
}

/** Skips the current test, and notes the reason for the report. Throws outside a test. */
export function skip(reason: string): never {
  const test = TestRunner.getCurrentTest();
  if (test === undefined) throw new Error(`outside a test: ${reason}`);
  const note: Skip = { file: test.file.name, test: test.fullTestName, reason };
  appendFileSync(givenCluster()!.skips, `${JSON.stringify(note)}\n`);
  return test.context.skip(reason);
}

export const isSkip = (error: unknown): boolean => (error as { code?: string } | null)?.code === 'VITEST_PENDING';
