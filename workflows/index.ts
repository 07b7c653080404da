/** The workflow types that drover's workers serve. */
export { pool } from './pool.ts';
export { watch } from './watch.ts';
