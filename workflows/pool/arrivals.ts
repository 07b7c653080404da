import { proxyActivities } from '@temporalio/workflow';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import { summary } from '../../decisions/lib/summary.ts';
import { failureOf } from '../../decisions/owners/failures.ts';
import type { PoolStep } from '../../decisions/owners/steps.ts';
import { vmName } from '../../decisions/template/vm-names.ts';
import { runInParts, runOperation, ON_VMS, type OwnerStepContext } from '../owners/steps.ts';

const { createVms, adoptNamedVms, adoptReturnedVms, promoteStandbyVms, setStandbyState } =
  proxyActivities<PoolActivities>(ON_VMS);

type Arrival = Extract<PoolStep, { kind: 'create' | 'adopt' | 'adoptNamed' | 'promoteStandby' | 'setStandbyState' }>;

export const isArrival = (step: PoolStep): step is Arrival =>
  ['create', 'adopt', 'adoptNamed', 'promoteStandby', 'setStandbyState'].includes(step.kind);

/** Begins a step that adds replicas or standby VMs to a pool, or that promotes or settles them. */
export function beginArrival(step: Arrival, context: OwnerStepContext): void {
  const { key, generation, minVersions, failureBackoff } = context;
  const { reason } = step;
  const options = { summary: summary(reason) };
  const failure = failureOf(step)!;
  switch (step.kind) {
    case 'create': {
      const { revision, role, most } = step;
      const kind = role === 'Standby' ? 'standby' : 'creating';
      const how = {
        generation,
        skipSlowStart: failureBackoff.hasSucceeded,
        ...(role === undefined ? {} : { role }),
        ...(most === undefined ? {} : { most }),
      };
      const vms = step.numbers.map((number) => ({ number, name: vmName(key.name, number) }));
      return runInParts(vms, { kind, reason, act: { action: 'create', to: revision } }, context, failure, (part) => {
        const numbers = part.map(({ number }) => number);
        return createVms.executeWithOptions(options, [key, numbers, revision, minVersions, how]);
      });
    }
    case 'adopt': {
      const { role = null } = step;
      const kind = role === null ? 'creating' : 'standby';
      return runInParts(step.vms, { kind, reason, act: { action: 'adopt' } }, context, failure, (vms) =>
        adoptReturnedVms.executeWithOptions(options, [key, vms, { generation, role }]),
      );
    }
    case 'adoptNamed':
      return runInParts(step.vms, { kind: 'creating', reason, act: { action: 'adopt' } }, context, failure, (vms) =>
        adoptNamedVms.executeWithOptions(options, [key, vms]),
      );
    case 'promoteStandby': {
      const act = { action: 'promote standby' };
      return runInParts(step.vms, { kind: 'creating', reason, act }, context, failure, (vms) =>
        promoteStandbyVms.executeWithOptions(options, [key, vms, generation, minVersions]),
      );
    }
    case 'setStandbyState':
      return runOperation({ kind: 'standby', names: step.vms.map(({ name }) => name), reason }, context, failure, () =>
        setStandbyState.executeWithOptions(options, [key, step.vms, step.act, generation]),
      );
  }
}
