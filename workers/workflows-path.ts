import { fileURLToPath } from 'node:url';

/** The module from which Temporal builds its workflow bundle. */
export const workflowsPath = fileURLToPath(new URL('../workflows/index.ts', import.meta.url));
