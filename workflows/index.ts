/** The workflow types that drover's workers serve. */
export { healVm } from './healing/heal-vm.ts';
export { operation } from './operations/operation.ts';
export { pool } from './pool/pool.ts';
export { vmiReplicaSet, replicaSet } from './replica-sets/replica-set.ts';
export { operationSchedule } from './schedules/operation-schedule.ts';
export { updateBatch } from './rollout/update-batch.ts';
export { watch } from './watch/watch.ts';
