import { fileURLToPath } from 'node:url';

/** The module from which workers with payload codecs have the texts of errors encoded. */
export const failureConverterPath = fileURLToPath(new URL('./failure-converter.ts', import.meta.url));

/** The module from which Temporal builds its workflow bundle. */
export const workflowsPath = fileURLToPath(new URL('../workflows/index.ts', import.meta.url));
