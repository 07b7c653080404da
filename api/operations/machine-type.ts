import * as z from 'zod';
import { count } from '../pool/text.ts';
import { rules, textMatching } from '../pool/text.ts';
import { MAX_RESULTS_LISTED } from './defaults-and-limits.ts';

const TYPE_SHAPE = 'must be a machine type such as pc-q35-rhel9.2.0';
const ONE_SHAPE = 'must name the old types (from), or the operation to undo (undoes)';
const UNDO_SHAPE = 'must not have both to and undoes: an undo gives each VM back the type that it had';

/** Which machine types an operation takes away, what VMs get instead, and how. */
export const MachineTypeChange = z
  .strictObject({
    from: z
      .string()
      .min(1)
      .max(253)
      .describe('The old machine types: a glob, such as pc-q35-rhel8.*, of the types of VMs and of VMIs.')
      .exactOptional(),
    to: textMatching(/^[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?$/, 253, TYPE_SHAPE)
      .describe(
        "The new type. Without it the type is cleared, and the default of the VM's preference or of the cluster applies.",
      )
      .exactOptional(),
    undoes: z
      .string()
      .min(1)
      .max(253)
      .describe(
        'Name of an operation: the VMs that it has changed get their types back. Its UID, if several had that name.',
      )
      .exactOptional(),
    restart: z
      .boolean()
      .describe(
        'Whether the VMIs that have an old type are restarted, within the disruption budgets. If not, they are waited for until their owners restart them.',
      )
      .exactOptional(),
    force: z
      .boolean()
      .describe('Whether to continue if VMs would get a type that no schedulable node has, or that is itself old.')
      .exactOptional(),
  })
  .meta(rules(['has(self.from) != has(self.undoes)', ONE_SHAPE], ['!has(self.undoes) || !has(self.to)', UNDO_SHAPE]));
export type MachineTypeChange = z.infer<typeof MachineTypeChange>;

const type = (description: string) => z.string().max(253).describe(description);

/** What the status of a change of machine types reports in addition to the numbers of all operations. */
export const MachineTypeStatus = z.strictObject({
  changed: count('VMs that it has changed or labelled.'),
  restarted: count('VMs that it has restarted.'),
  toChange: count('VMs that are to be changed.'),
  toRestart: count('VMs that are to be restarted.'),
  waiting: count('VMs that wait for a restart by their owners.'),
  inPools: count('VMs that their pools are to update.'),
  deferred: count('VMs that must not be disrupted now.'),
  atOnce: count('How many VMs may be not ready at once.'),
  results: z
    .array(
      z.strictObject({
        from: type('The type before the change.'),
        to: type("What it becomes; empty for KubeVirt's default."),
        vms: count('How many VMs were found to have it.'),
        fault: z.string().max(1024).describe('What is wrong with that.').exactOptional(),
      }),
    )
    .max(MAX_RESULTS_LISTED)
    .describe('What types become, as dry runs have shown.'),
});
export type MachineTypeStatus = z.infer<typeof MachineTypeStatus>;
