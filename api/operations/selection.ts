import * as z from 'zod';
import { LabelSelector } from '../pool/selection.ts';
import { rules } from '../pool/text.ts';
import { MAX_EXCLUDED, MAX_NAMES } from './defaults-and-limits.ts';

const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

const EMPTY = 'must say which VMs: names, selector, owner, runState, machineType, restartRequired or launcherOutdated';
const CHOOSING = [
  'names',
  'selector',
  'owner',
  'runState',
  'machineType',
  'restartRequired',
  'launcherOutdated',
] as const;

/** Which VMs of its namespaces an operation is about: VMs that match all its fields. */
export const VmSelection = z
  .strictObject({
    names: z
      .array(z.string().max(253).regex(NAME, 'must be the name of a VM'))
      .min(1)
      .max(MAX_NAMES)
      .meta({ 'x-kubernetes-list-type': 'set' })
      .describe('Names of VMs.')
      .exactOptional(),
    selector: LabelSelector.describe('VMs with these labels; an empty selector matches all.').exactOptional(),
    owner: z
      .strictObject({
        kind: z.enum(['VirtualMachinePool', 'VirtualMachineReplicaSet']),
        name: z.string().min(1).max(253),
      })
      .describe("VMs that this one of drover's pools or replica sets controls.")
      .exactOptional(),
    runState: z.enum(['Running', 'Stopped']).describe('VMs that run, or that do not.').exactOptional(),
    machineType: z
      .string()
      .min(1)
      .max(253)
      .describe('VMs whose machine type matches this glob, such as pc-q35-rhel8.*.')
      .exactOptional(),
    restartRequired: z
      .literal(true)
      .describe('Only VMs that wait for a restart: KubeVirt, their pool or a machine type transition says so.')
      .exactOptional(),
    launcherOutdated: z.literal(true).describe('Only VMs that run in a pod of an earlier KubeVirt.').exactOptional(),
    exclude: z
      .array(z.string().min(1).max(317))
      .max(MAX_EXCLUDED)
      .describe('No VM whose name one of these globs matches; a glob with a slash matches namespace/name.')
      .exactOptional(),
  })
  .refine((vms) => CHOOSING.some((name) => name in vms), EMPTY)
  .meta(rules([CHOOSING.map((name) => `has(self.${name})`).join(' || '), EMPTY]));
export type VmSelection = z.infer<typeof VmSelection>;
