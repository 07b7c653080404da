import { countOf } from '../../../api/lib/int-or-percent.ts';
import { withDefaults } from '../../../api/rules/pool-defaults.ts';
import { isActive, isDown, type VmiOf } from '../../health/availability.ts';
import type { Batch } from '../../owners/batch.ts';
import type { StoredPool } from '../../views/pool.ts';
import { isRegular, type VmView } from '../../views/vm.ts';
import { failedIn } from '../state/state.ts';

export const STEP_IS_FULL = 'the status of its pool does not say that the step of the rollout is passed';

interface StepInput extends Pick<Batch, 'revision' | 'rollout'> {
  pool: StoredPool;
  /** VMs that the pool owns. */
  vms: () => readonly VmView[];
  vmiOf: VmiOf;
  /** Names of VMs that may be about to get the revision. */
  onTheirWay: ReadonlySet<string>;
}

/** How many more replicas may get the revision before the next step, by the status of the pool; null: any. */
export function remainingToStep({ pool, vms, vmiOf, revision, rollout, onTheirWay }: StepInput): number | null {
  const { currentRevision, rollout: state } = pool.status ?? {};
  const { update, rollout: rules } = withDefaults(pool.spec);
  const isCareful = currentRevision !== undefined && currentRevision !== revision && revision === rollout;
  if (!isCareful || update.kind !== 'proactive') return null;
  const known = state?.revision === rollout ? state : undefined;
  const step = rules.steps[known?.step ?? 0];
  if (step === undefined) return null;
  const hasFailed = known === undefined ? () => false : failedIn(known);
  const isUpdated = (vm: VmView): boolean =>
    onTheirWay.has(vm.name) || (vm.revision === revision && !(hasFailed(vm) && isDown(vm, vmiOf(vm))));
  const updated = vms().filter((vm) => isRegular(vm) && isActive(vm) && isUpdated(vm)).length;
  return countOf(step.to, pool.spec.replicas, 1) - updated;
}
