import * as z from 'zod';
import { Autohealing } from './autohealing.ts';
import { Drain, withDrainableTemplate } from './drain.ts';
import { withOwnSelector } from './own-selector.ts';
import { ownerSchema } from './owner-schema.ts';
import { Rollout } from './rollout.ts';
import { LabelSelector } from './selection.ts';
import { Standby, withRunningStandby } from './standby.ts';
import { PoolStatus } from './status.ts';
import { ScaleInStrategy, UpdateStrategy, VmRolloutStrategy } from './strategies.ts';
import { withSurgeRules } from './surge.ts';
import { IntOrPercentFrom0, WholeNumber } from './text.ts';
import { VmTemplate } from './vm-template.ts';

export { Autohealing } from './autohealing.ts';
export { Drain } from './drain.ts';
export { Rollout, type CheckStatus, type RolloutStep, type StepCheck } from './rollout.ts';
export { LabelSelector, SelectionPolicy, type BasePolicy, type ScaleInSelectionPolicy } from './selection.ts';
export {
  Condition,
  PoolStatus,
  type DisruptedVm,
  type HealingStatus,
  type RoleEntry,
  type RolloutStatus,
} from './status.ts';
export type { HandledRequest } from './text.ts';
export {
  ScaleInStrategy,
  UpdateStrategy,
  VmRolloutStrategy,
  type Disruption,
  type DriftPolicy,
  type OutdatedPods,
  type StatePreservation,
} from './strategies.ts';
export { Standby, type StandbyState } from './standby.ts';
export { VmTemplate } from './vm-template.ts';
export type { MaintenanceWindow } from './windows.ts';
export type { IntOrPercent } from '../lib/int-or-percent.ts';

/** Five digits: keeps a VM's name within the 63 characters that KubeVirt's labels and host names allow. */
export const MAX_REPLICAS = 99_999;

export const NameGeneration = z
  .strictObject({
    appendPostfixToSecretReferences: z
      .boolean()
      .describe('Secret web becomes web-1 for the VM of number 1. false by default.')
      .exactOptional(),
    appendPostfixToConfigMapReferences: z
      .boolean()
      .describe('The same for ConfigMaps. false by default.')
      .exactOptional(),
  })
  .describe('Which references of the VMs get the number of the VM.');
export type NameGeneration = z.infer<typeof NameGeneration>;

const PoolFields = z.strictObject({
  replicas: WholeNumber.min(0)
    .max(MAX_REPLICAS)
    .describe(
      'How many VMs the pool has. Left out, the number stays what it was, for an autoscaler to set; 1 in a new pool.',
    )
    .exactOptional(),
  template: VmTemplate,
  maxUnavailable: IntOrPercentFrom0.describe(
    'How many VMs that should be running may be unavailable while drover updates VMs: a number, or a percentage of replicas, rounded down. ' +
      '25% by default; 0 only with maxSurge.',
  ).exactOptional(),
  maxSurge: IntOrPercentFrom0.describe(
    'How many VMs more than replicas may exist while drover updates VMs, each available before another goes down: a number, ' +
      'or a share of replicas, rounded up. 0 by default.',
  ).exactOptional(),
  nameGeneration: NameGeneration.exactOptional(),
  updateStrategy: UpdateStrategy.exactOptional(),
  scaleInStrategy: ScaleInStrategy.exactOptional(),
  vmRolloutStrategy: VmRolloutStrategy.exactOptional(),
  rollout: Rollout.exactOptional(),
  autohealing: Autohealing.exactOptional(),
  drain: Drain.exactOptional(),
  standby: Standby.exactOptional(),
  revisionHistoryLimit: WholeNumber.min(0)
    .describe('How many old revisions are kept to go back to. 10 by default.')
    .exactOptional(),
  paused: z.boolean().describe('No update begins while this is true; scaling and healing continue.').exactOptional(),
  selector: LabelSelector.describe('For tools that expect one. A VM belongs to the pool that owns it.').exactOptional(),
});
export const PoolSpec = withSurgeRules(
  withRunningStandby(withDrainableTemplate(withOwnSelector(PoolFields, 'template'))),
);
export type PoolSpec = z.infer<typeof PoolSpec>;

export const VirtualMachinePool = ownerSchema(
  'VirtualMachinePool',
  'VMs are named <pool>-<number>',
  PoolSpec,
  PoolStatus,
);
export type VirtualMachinePool = z.infer<typeof VirtualMachinePool>;
