import { vi } from 'vitest';

/**
 * What drover's own code meets in the model: its timers, and its workflows' surroundings. To be imported before
 * anything of drover's.
 */
vi.mock('node:timers/promises', async () => {
  const { sleeping } = await import('./virtual-time.ts');
  return { ...sleeping, default: sleeping };
});
vi.mock('@temporalio/workflow', async (original) => {
  const { workflowApi } = await import('./temporal-workflow.ts');
  return { ...(await original<object>()), ...workflowApi };
});
