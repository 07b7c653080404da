import type { RolloutStatus } from '../../../api/pool/pool.ts';
import { minReadyMsOf } from '../../disruption-budget/budget.ts';
import { maxSurgeOf } from '../../disruption-budget/unavailability.ts';
import { availableSince } from '../../health/availability.ts';
import { windowAt } from '../../lib/maintenance-windows.ts';
import type { UpdateAct } from '../../owners/batch.ts';
import type { RolloutContext } from '../state/context.ts';

/** How many extra VMs a rollout has a use for. */
export interface SurgeNeed {
  wanted: number;
  /** Whether the rollout continues, so that missing ones are made and failed ones are replaced. */
  grows: boolean;
  /** The revision of new ones: the target of the rollout. */
  revision: string;
  /** Names of VMs in batches, begun or planned, which may go down at any moment or have not come back. */
  unsettled: ReadonlySet<string>;
}

interface SurgeNeedInput {
  state: RolloutStatus;
  /** The revision that VMs are brought to. */
  revision: string;
  /** VMs that may be taken. */
  free: readonly { act: UpdateAct; down: boolean }[];
  /** How many running VMs may be taken before the next step; null without a limit. */
  stepRemaining: number | null;
  unsettled: ReadonlySet<string>;
}

/**
 * An extra VM stands in for a VM that the rollout takes down. So there are never more than the rollout has taken down
 * or would take down next: none at a step, in a pause, outside of its windows, for VMs that are down already, or for
 * what is only written.
 */
export function surgeNeed(context: RolloutContext, { state, revision, free, ...rest }: SurgeNeedInput): SurgeNeed {
  const { input, spec, surge, waits } = context;
  const { stepRemaining, unsettled } = rest;
  const continues =
    !input.isChangingMembers &&
    spec.update.kind === 'proactive' &&
    !context.isStopped(state) &&
    windowAt(spec.rollout.windows, input.now).open;
  const costly = free.filter(({ act, down }) => act !== 'write' && !down).length;
  const queued = input.queued.filter(({ act, role, wasDown }) => act !== 'write' && role === undefined && !wasDown);
  const next = continues ? Math.max(Math.min(costly, stepRemaining ?? Infinity), 0) + queued.length : 0;
  const begun = input.batches.flatMap(({ vms }) => vms).filter(({ name, wasDown }) => !wasDown && unsettled.has(name));
  const minReadyMs = minReadyMsOf(input.pool);
  for (const vm of surge) waits.requeue(availableSince(vm, input.vmiOf(vm), minReadyMs) ?? 0);
  return {
    wanted: Math.min(maxSurgeOf(input.pool), next + begun.length),
    grows: next > 0,
    revision,
    unsettled,
  };
}
