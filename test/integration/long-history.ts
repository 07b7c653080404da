import type { WorkflowHandle } from '@temporalio/client';
import { expect } from 'vitest';
import { until } from './fleet.ts';

/**
 * Signals to a workflow with so many words that its history grows long, and waits for its next run.
 *
 * Temporal suggests continue-as-new after 4 MiB. It also does after 4,096 events, but fails a workflow task if a
 * hundred signals arrive meanwhile: a slow worker would replay them again and again, and never finish.
 *
 * If the signals arrived during a workflow task, Temporal suggests it only with the next one: so more signals follow.
 */
export async function untilContinuedAsNew(handle: WorkflowHandle): Promise<void> {
  const { runId } = await handle.describe();
  for (let n = 0; n < 5; n++) await handle.signal('changed', 'x'.repeat(1_000_000));
  await until(async () => {
    await handle.signal('changed');
    expect((await handle.describe()).runId).not.toBe(runId);
  });
}
