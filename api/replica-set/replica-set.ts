import * as z from 'zod';
import { ownerSchema } from '../pool/owner-schema.ts';
import { MAX_REPLICAS } from '../pool/pool.ts';
import { desiredReplicas, WritesAndConditions } from '../pool/status.ts';
import { WholeNumber, count } from '../pool/text.ts';
import { VmTemplate } from '../pool/vm-template.ts';
import { Selector, withMatchingSelector } from './selector.ts';
import { VmiTemplate } from './vmi-template.ts';

/** How the two kinds of sets call their members. */
interface SetTexts<Template extends z.ZodType> {
  /** Their members: `VMs`, `VMIs`. */
  members: 'VMs' | 'VMIs';
  replicas: string;
  counted: string;
  ready: string;
  template: Template;
}

const specOf = <Template extends z.ZodType>({ members, replicas, template }: SetTexts<Template>) =>
  withMatchingSelector(
    z.strictObject({
      replicas: WholeNumber.min(0)
        .max(MAX_REPLICAS)
        .describe(`${replicas} Left out, the number stays what it was; 1 in a new set.`)
        .exactOptional(),
      selector: Selector.describe(
        `Which ${members} belong to the set. Matching ${members} without a controller are adopted; members that no ` +
          'longer match are released. It must match the labels of the template, and never changes.',
      ),
      template,
      minReadySeconds: WholeNumber.min(0)
        .describe(`How long a ${members.slice(0, -1)} must be ready to count as available. 0 by default.`)
        .exactOptional(),
      paused: z
        .boolean()
        .describe(
          `No ${members.slice(0, -1)} is created or deleted while this is true; ${members} are still released and adopted.`,
        )
        .exactOptional(),
    }),
  );

const statusOf = ({ members, counted, ready }: SetTexts<z.ZodType>) =>
  z.strictObject({
    observedGeneration: z
      .int()
      .min(0)
      .describe('The generation of the spec that this status is about.')
      .exactOptional(),
    desiredReplicas,
    replicas: count(counted),
    readyReplicas: count(ready).exactOptional(),
    availableReplicas: count(`${members} that have been ready for minReadySeconds.`).exactOptional(),
    labelSelector: z
      .string()
      .describe(`Selector of the ${members}, as the scale subresource shows it.`)
      .exactOptional(),
    ...WritesAndConditions,
  });

const VMS: SetTexts<typeof VmTemplate> = {
  members: 'VMs',
  replicas: 'How many VMs the set has, and never more than that.',
  counted: 'VMs of the set that have not run to their end, including VMs that are being deleted.',
  ready: 'VMs whose VMIs are ready.',
  template: VmTemplate,
};
const VMIS: SetTexts<typeof VmiTemplate> = {
  members: 'VMIs',
  replicas: 'How many VMIs the set has; for a moment it may have more.',
  counted:
    'VMIs of the set that run or start: none that has ended, is being deleted, or is on a node that does not answer.',
  ready: 'VMIs that are ready.',
  template: VmiTemplate,
};

export const ReplicaSetSpec = specOf(VMS);
export type ReplicaSetSpec = z.infer<typeof ReplicaSetSpec>;
export const VmiSetSpec = specOf(VMIS);
export type VmiSetSpec = z.infer<typeof VmiSetSpec>;

/** The status of sets of both kinds: only the descriptions of its fields differ. */
export const ReplicaSetStatus = statusOf(VMS);
export type ReplicaSetStatus = z.infer<typeof ReplicaSetStatus>;

const namesOf = ({ members }: SetTexts<z.ZodType>): string => `${members} are named <set>-<five letters and digits>`;

/** Identical VMs, kept at a number that they never exceed. */
export const VirtualMachineReplicaSet = ownerSchema(
  'VirtualMachineReplicaSet',
  namesOf(VMS),
  ReplicaSetSpec,
  ReplicaSetStatus,
);
export type VirtualMachineReplicaSet = z.infer<typeof VirtualMachineReplicaSet>;

/** Identical VMIs: an instance that ends or leaves is replaced at once. */
export const VirtualMachineInstanceReplicaSet = ownerSchema(
  'VirtualMachineInstanceReplicaSet',
  namesOf(VMIS),
  VmiSetSpec,
  statusOf(VMIS),
);
export type VirtualMachineInstanceReplicaSet = z.infer<typeof VirtualMachineInstanceReplicaSet>;
