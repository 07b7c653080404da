import * as z from 'zod';
import { atMostOne } from './one-of.ts';
import { ScaleInSelectionPolicy, SelectionPolicy } from './selection.ts';
import { Windows } from './windows.ts';

const ONLINE =
  "can't be Online: KubeVirt has no way yet to keep a VM's memory on a disk (kubevirt/kubevirt#18054); Offline keeps its disks, Disabled nothing";

const SNAPSHOT =
  "can't be Snapshot: a snapshot leaves out disks whose storage class has no VolumeSnapshotClass, and is restored to other disks; Offline keeps the disks themselves, Disabled nothing";

const REFUSED = new Map<unknown, string>([
  ['Online', ONLINE],
  ['Snapshot', SNAPSHOT],
]);

export const StatePreservation = z
  .enum(['Disabled', 'Offline'], { error: (issue) => REFUSED.get(issue.input) })
  .describe(
    'Whether the disks of a VM that leaves are kept for the next VM of its number (Offline), or deleted (Disabled, the default).',
  );
export type StatePreservation = z.infer<typeof StatePreservation>;

export const Disruption = z
  .enum(['None', 'Live', 'Restart', 'Replace'])
  .describe(
    'The most that an update may do to a running VM: nothing (None), a live update (Live), a restart (Restart, the default), ' +
      'or its replacement with new disks (Replace).',
  );
export type Disruption = z.infer<typeof Disruption>;

export const DriftPolicy = z
  .enum(['Report', 'Correct'])
  .describe(
    'What happens to fields of a VM that a user has changed though the template sets them: they are kept and reported (Report, the default), ' +
      'or corrected by an update (Correct).',
  );
export type DriftPolicy = z.infer<typeof DriftPolicy>;

export const OutdatedPods = z
  .enum(['Report', 'Migrate', 'MigrateOrRestart', 'Restart'])
  .describe(
    'What happens to VMs whose pods lack labels, annotations or placement of the template, which KubeVirt gives only to a new pod: they are ' +
      'reported (Report, the default), or get one by a live migration (Migrate), by a restart if KubeVirt cannot migrate them (MigrateOrRestart), ' +
      'or by a restart (Restart). Never by more than disruption allows; a migration counts as Live.',
  );
export type OutdatedPods = z.infer<typeof OutdatedPods>;

export const VmRolloutStrategy = z
  .enum(['Stage', 'LiveUpdate'])
  .describe(
    'Whether a change that KubeVirt can apply to a running VMI is applied there (LiveUpdate), or waits for a restart (Stage). ' +
      "As the cluster's KubeVirt has it by default.",
  );
export type VmRolloutStrategy = z.infer<typeof VmRolloutStrategy>;

export const UpdateStrategy = atMostOne({
  unmanaged: z.strictObject({}).describe('VMs are never touched after their creation.'),
  opportunistic: z.strictObject({}).describe('VMs are updated when they are halted or restart for another reason.'),
  proactive: z
    .strictObject({
      selectionPolicy: SelectionPolicy.exactOptional(),
      disruption: Disruption.exactOptional(),
      drift: DriftPolicy.exactOptional(),
      outdatedPods: OutdatedPods.exactOptional(),
    })
    .describe('VMs are updated in batches, within maxUnavailable. The default.'),
}).describe('How a change of the template reaches the VMs. Proactive by default.');
export type UpdateStrategy = z.infer<typeof UpdateStrategy>;

export const ScaleInStrategy = atMostOne({
  unmanaged: z.strictObject({}).describe('VMs are never removed; users delete them.'),
  opportunistic: z
    .strictObject({ statePreservation: StatePreservation.exactOptional() })
    .describe('Only VMs that are halted are removed.'),
  proactive: z
    .strictObject({
      selectionPolicy: ScaleInSelectionPolicy.exactOptional(),
      statePreservation: StatePreservation.exactOptional(),
      windows: Windows.describe(
        'Surplus VMs begin to leave only inside one of these windows; at any time if there are none.',
      ).exactOptional(),
    })
    .describe('VMs are shut down and removed. The default.'),
}).describe('How VMs leave the pool when replicas gets smaller. Proactive by default.');
export type ScaleInStrategy = z.infer<typeof ScaleInStrategy>;
