/** The workflow types that drover's workers serve. */
export { healVm } from './heal-vm.ts';
export { machineTypeTransition } from './machine-type-transition.ts';
export { pool } from './pool.ts';
export { restartVms } from './restart-vms.ts';
export { updateBatch } from './update-batch.ts';
export { watch } from './watch.ts';
