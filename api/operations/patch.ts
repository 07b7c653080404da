import * as z from 'zod';
import { rules } from '../pool/text.ts';
import { MAX_PATCH } from './defaults-and-limits.ts';

const ONE = 'must hold exactly one of merge and undo';

/** What an operation with `action: Patch` changes. */
export const VmPatch = z
  .strictObject({
    // A text: rules can't compare fields that no schema knows, so that an object could be changed once it was allowed.
    merge: z
      .string()
      .min(1)
      .max(MAX_PATCH)
      .describe(
        'A JSON merge patch of a VirtualMachine, in YAML or JSON. Items of disks, volumes, interfaces and the like ' +
          'change the items of their names.',
      )
      .exactOptional(),
    undo: z
      .string()
      .min(1)
      .max(253)
      .describe('Instead of merge: the operation whose changes are reverted, except what was changed since.')
      .exactOptional(),
    restart: z
      .literal(true)
      .describe('Restarts each VM whose change needs a restart right after it is changed; without it, such VMs wait.')
      .exactOptional(),
  })
  .meta(rules(['has(self.merge) != has(self.undo)', ONE]));
export type VmPatch = z.infer<typeof VmPatch>;
