import { fileURLToPath } from 'node:url';

/** The module that Temporal makes its workflow bundle from. */
export const workflowsPath = fileURLToPath(new URL('../workflows/index.ts', import.meta.url));
