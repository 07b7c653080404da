import { proxyActivities } from '@temporalio/workflow';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { PoolStep } from '../../decisions/pool/steps.ts';
import { vmName } from '../../decisions/scaling/vm-names.ts';
import { inLane, lanes, ON_VMS, type OwnerStepContext } from '../owners/steps.ts';

const { createVms, promoteVms, settleVms } = proxyActivities<PoolActivities>(ON_VMS);

type Arrival = Extract<PoolStep, { kind: 'create' | 'promote' | 'settle' }>;

export const isArrival = (step: PoolStep): step is Arrival =>
  step.kind === 'create' || step.kind === 'promote' || step.kind === 'settle';

/** Begins a step by which a pool gets replicas or standby VMs, or by which these become what they are for. */
export function beginArrival(step: Arrival, context: OwnerStepContext): void {
  const { key, generation, seen, failureBackoff } = context;
  const { reason } = step;
  const words = { summary: summary(reason) };
  switch (step.kind) {
    case 'create': {
      const { revision, role } = step;
      const [kind, failure] =
        role === 'Standby' ? (['standby', 'FailedStandby'] as const) : (['creating', 'FailedCreate'] as const);
      for (const numbers of lanes(step.numbers)) {
        const names = numbers.map((number) => vmName(key.name, number));
        const how = { generation, skipSlowStart: failureBackoff.hasProven, ...(role === undefined ? {} : { role }) };
        inLane({ kind, names, reason }, context, failure, () =>
          createVms.executeWithOptions(words, [key, numbers, revision, seen, how]),
        );
      }
      return;
    }
    case 'promote':
      for (const vms of lanes(step.vms))
        inLane({ kind: 'creating', names: vms.map(({ name }) => name), reason }, context, 'FailedCreate', () =>
          promoteVms.executeWithOptions(words, [key, vms, generation, seen]),
        );
      return;
    case 'settle':
      return inLane(
        { kind: 'standby', names: step.vms.map(({ name }) => name), reason },
        context,
        'FailedStandby',
        () => settleVms.executeWithOptions(words, [key, step.vms, step.act, generation]),
      );
  }
}
