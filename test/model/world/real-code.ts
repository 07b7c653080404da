import '../../own-modules.ts';
import { vi } from 'vitest';

/**
 * Replaces the environment of drover's own code by the model's: timers, and the API for workflows. Must be imported
 * before any of drover's code.
 */
vi.mock('node:timers/promises', async () => {
  const { sleeping } = await import('./virtual-time.ts');
  return { ...sleeping, default: sleeping };
});
vi.mock('@temporalio/workflow', async (original) => {
  const { workflowApi } = await import('./temporal/workflow-api.ts');
  return { ...(await original<object>()), ...workflowApi };
});
