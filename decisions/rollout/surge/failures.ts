import type { RolloutStatus } from '../../../api/pool/pool.ts';
import type { SurgeVm } from '../../views/vm.ts';
import type { RolloutContext } from '../state/context.ts';
import { withOverdue } from '../state/overdue.ts';
import { deadlinesFrom } from '../state/state.ts';

/** Counts extra VMs that have not come up in time as failures of the revision that they were made of. */
export const withSurgeFailures = (context: RolloutContext, state: RolloutStatus): RolloutStatus =>
  withOverdue(context, state, {
    vms: context.surge,
    downSince: (vm, revision) => (vm.revision === revision ? downSince(vm, state) : null),
    what: 'it is extra',
  });

/** Since when an extra VM has kept the rollout waiting, in milliseconds since the epoch. */
export const downSince = ({ createdAt, notReadySince }: SurgeVm, state: RolloutStatus): number =>
  Math.max(createdAt, notReadySince ?? 0, deadlinesFrom(state));
