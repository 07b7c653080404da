import * as z from 'zod';
import { API_VERSION } from '../names.ts';
import { nameRule, nameShape, ownerMeta } from '../pool/metadata.ts';
import { MAX_REPLICAS } from '../pool/pool.ts';
import { count, WritesAndConditions } from '../pool/status.ts';
import { WholeNumber } from '../pool/text.ts';
import { VmTemplate } from '../pool/vm-template.ts';
import { Selector, withMatchingSelector } from './selector.ts';

const NAME_SHAPE = nameShape('VMs are named <set>-<five letters and digits>');

export const ReplicaSetSpec = withMatchingSelector(
  z.strictObject({
    replicas: WholeNumber.min(0).max(MAX_REPLICAS).describe('How many VMs the set has, and never more than that.'),
    selector: Selector.describe(
      'Which VMs are of the set: those that match and have no controller become its own, and one that no longer ' +
        'matches is released. It must match the labels of the template, and never changes.',
    ),
    template: VmTemplate,
    minReadySeconds: WholeNumber.min(0)
      .describe('How long a VM must be ready to count as available. 0 by default.')
      .exactOptional(),
    paused: z
      .boolean()
      .describe('No VM is created or deleted while this is true; VMs are still released and adopted.')
      .exactOptional(),
  }),
);
export type ReplicaSetSpec = z.infer<typeof ReplicaSetSpec>;

export const ReplicaSetStatus = z.strictObject({
  observedGeneration: z.int().min(0).describe('The generation of the spec that this status is about.').exactOptional(),
  replicas: count('VMs of the set that have not run to their end, those that are being deleted among them.'),
  readyReplicas: count('VMs whose VMIs are ready.').exactOptional(),
  availableReplicas: count('VMs that have been ready for minReadySeconds.').exactOptional(),
  labelSelector: z.string().describe('Selector of the VMs, as the scale subresource shows it.').exactOptional(),
  ...WritesAndConditions,
});
export type ReplicaSetStatus = z.infer<typeof ReplicaSetStatus>;

/** VMs that are alike, kept at a number that they never exceed. */
export const VirtualMachineReplicaSet = z
  .strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('VirtualMachineReplicaSet'),
    metadata: ownerMeta(NAME_SHAPE),
    spec: ReplicaSetSpec,
    status: ReplicaSetStatus.exactOptional(),
  })
  .meta(nameRule(NAME_SHAPE));
export type VirtualMachineReplicaSet = z.infer<typeof VirtualMachineReplicaSet>;
