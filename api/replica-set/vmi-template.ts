import * as z from 'zod';
import { Annotations, Labels, refused } from '../pool/text.ts';

const OF_VMS =
  'is a field of a VirtualMachine, which a VirtualMachineReplicaSet makes: a VirtualMachineInstance starts at once, and has none';
const DOMAIN =
  'must hold domain: the spec of a VirtualMachineInstance, not that of a VirtualMachine, whose template holds one';

/**
 * A VirtualMachineInstance's spec. Only the fields that every VMI must have are checked; all others belong to KubeVirt
 * and are passed through unchanged.
 */
const VmiSpec = z.looseObject({
  domain: z.looseObject({}, { error: (issue) => (issue.input === undefined ? DOMAIN : undefined) }),
  running: refused(OF_VMS, 'boolean').exactOptional(),
  runStrategy: refused(OF_VMS, 'string').exactOptional(),
  template: refused(OF_VMS).exactOptional(),
  dataVolumeTemplates: refused(OF_VMS, 'array').exactOptional(),
});

export const VmiTemplate = z
  .strictObject({
    metadata: z
      .strictObject({ labels: Labels.exactOptional(), annotations: Annotations.exactOptional() })
      .describe('Labels and annotations of each VMI.')
      .exactOptional(),
    spec: VmiSpec.describe('Spec of each VirtualMachineInstance, as KubeVirt defines it.'),
  })
  .describe('The VirtualMachineInstance that each VMI is made from.');
export type VmiTemplate = z.infer<typeof VmiTemplate>;
