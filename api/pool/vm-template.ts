import * as z from 'zod';
import { crossFieldRule, Annotations, Labels, refused, rules } from './text.ts';

const POWER = 'must hold either runStrategy or the older running';
const VMI_TEMPLATE = 'must be the template of the VirtualMachineInstance, whose spec holds domain and volumes';
/** The field exists only in KubeVirt before 1.2; a template that still has it expects more than it would get. */
export const LIVE_UPDATE_FEATURES =
  "KubeVirt no longer has liveUpdateFeatures: write cpu.maxSockets and memory.maxGuest in the VM's spec.template.spec.domain, " +
  'and vmRolloutStrategy: LiveUpdate in the KubeVirt object or in the pool';

/** With the number of a VM (`-99999`), it is the name of a claim, of at most 253 characters. */
const DISK_NAME_LENGTH = 253 - '-99999'.length;

/**
 * A VirtualMachine's spec. Only the fields that every VM must have are checked; all others belong to KubeVirt and are
 * passed through unchanged.
 */
const VmSpec = crossFieldRule(
  z.looseObject({
    template: z.looseObject(
      // Declared for the rules of a pool: the API server's can read declared fields alone.
      { spec: z.looseObject({ evictionStrategy: z.string().exactOptional() }).exactOptional() },
      { error: (issue) => (issue.input === undefined ? VMI_TEMPLATE : undefined) },
    ),
    running: z.boolean().exactOptional(),
    runStrategy: z.string().exactOptional(),
    liveUpdateFeatures: refused(LIVE_UPDATE_FEATURES).exactOptional(),
    dataVolumeTemplates: z
      .array(z.looseObject({ metadata: z.looseObject({ name: z.string().min(1).max(DISK_NAME_LENGTH) }) }))
      .exactOptional(),
  }),
  (spec) => (spec['running'] === undefined) !== (spec['runStrategy'] === undefined),
  POWER,
).meta(rules(['has(self.running) != has(self.runStrategy)', POWER]));

export const VmTemplate = z
  .strictObject({
    metadata: z
      .strictObject({ labels: Labels.exactOptional(), annotations: Annotations.exactOptional() })
      .describe('Labels and annotations of each VM.')
      .exactOptional(),
    spec: VmSpec.describe('Spec of each VirtualMachine, as KubeVirt defines it.'),
  })
  .describe('The VirtualMachine that each VM is made from.');
export type VmTemplate = z.infer<typeof VmTemplate>;
