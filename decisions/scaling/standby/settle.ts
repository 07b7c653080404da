import { withDefaults, standbyRules } from '../../../api/rules/pool-defaults.ts';
import { isPausedOnRequest } from '../../disruption/pause.ts';
import { whyNotNow } from '../../disruption/reasons.ts';
import { availableSince, isActive, isReady, liveVmi } from '../../health/availability.ts';
import { earlier } from '../../lib/earlier-and-later.ts';
import { formatNames } from '../../lib/names.ts';
import { allowanceOf, refusedOf } from '../../owners/failures.ts';
import type { PlanInput } from '../../owners/plan-input.ts';
import { refusedLast } from '../../owners/refused-vms.ts';
import { nameOf, targets, type PoolStep, type SettleAct } from '../../owners/steps.ts';
import { isStandby, type StandbyVm } from '../../views/vm.ts';

type SettleStep = Extract<PoolStep, { kind: 'setStandbyState' }>;

type SettleInput = Pick<PlanInput, 'pool' | 'vms' | 'vmiOf' | 'burst' | 'backoffs' | 'now'> & {
  /** Names of VMs that something else works on. */
  busy: ReadonlySet<string>;
};

export interface Settling {
  steps: SettleStep[];
  /** When the next VM may be paused by the passing of time alone; milliseconds since the epoch. */
  requeueAt: number | null;
}

/**
 * Brings standby VMs to their state. A stopped VM that a user has started keeps running, because that was the user's
 * choice: drover stops only VMs that it has itself brought to another state before. Running VMs in a pool that wants
 * them paused are paused, since nothing shows how a VMI was started.
 */
export function settleStandby(input: SettleInput): Settling {
  const { pool, vms, vmiOf, busy } = input;
  const { state } = standbyRules(pool.spec);
  const byAct: Record<SettleAct, StandbyVm[]> = { pause: [], start: [], stop: [] };
  let requeueAt: number | null = null;
  for (const vm of refusedLast(vms.filter(isStandby), nameOf, refusedOf(input, 'FailedStandby'))) {
    if (!isActive(vm) || whyNotNow(vm, liveVmi(vmiOf(vm))) !== null || busy.has(vm.name)) continue;
    if (vm.standby !== state) byAct[state === 'Paused' ? 'start' : 'stop'].push(vm);
    else if (state === 'Paused') {
      const at = pausableAt(input, vm);
      if (at !== null && at <= input.now) byAct.pause.push(vm);
      else requeueAt = earlier(requeueAt, at);
    }
  }
  return { steps: stepsOf(byAct, allowanceOf(input, 'FailedStandby')), requeueAt };
}

/** When the VM's VMI has been ready for long enough; null if it is not to be paused. */
function pausableAt({ pool, vmiOf }: SettleInput, vm: StandbyVm): number | null {
  const vmi = vmiOf(vm);
  if (!isReady(vm, vmi) || isPausedOnRequest(vmi) || vm.changingState) return null;
  return availableSince(vm, vmi, withDefaults(pool.spec).rollout.minReadySeconds * 1000);
}

const WHY: Record<SettleAct, string> = {
  pause: 'they have come up, to be ready as standby',
  start: 'the pool wants its standby paused, and no longer stopped',
  stop: 'the pool wants its standby stopped',
};

function stepsOf(byAct: Record<SettleAct, StandbyVm[]>, most: number): SettleStep[] {
  let remaining = most;
  return (['pause', 'start', 'stop'] as const).flatMap((act): SettleStep[] => {
    const vms = byAct[act].slice(0, remaining);
    remaining -= vms.length;
    const reason = `${act} ${formatNames(vms.map(({ name }) => name))}: ${WHY[act]}`;
    return vms.length === 0 ? [] : [{ kind: 'setStandbyState', act, vms: targets(vms), reason }];
  });
}
