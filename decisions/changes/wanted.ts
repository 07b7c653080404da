import type { Json } from '../lib/json.ts';
import { changesOf } from './change-record.ts';
import { editsOf, formatPath, withEdits, type Edit } from './edits.ts';
import { undone } from './undo.ts';

/** What is to be done to VMs: a merge patch, or an undo of what the operation of this name has changed. */
export type Wanted = { patch: Json } | { undo: string };

/** What that means for one VM. `is`: `nothing` if it has it already, `skipped` if it can't be done, with the reason. */
type WantedOfVm<Vm> =
  | { is: 'nothing' }
  | { is: 'skipped'; message: string }
  /** `kept`: values that a user has changed since, and that stay; absent if there are none. */
  | { is: 'change'; after: Vm; edits: Edit[]; kept?: string };

interface Annotated {
  metadata: { annotations?: Record<string, string> };
}

/** Returns what this VM becomes, as it is now. */
export function wantedOf<Vm extends Annotated>(live: Vm, wanted: Wanted): WantedOfVm<Vm> {
  if ('undo' in wanted) return undoOf(live, wanted.undo);
  const found = editsOf(live, wanted.patch);
  if ('lacks' in found) return { is: 'skipped', message: whyLacking(found.lacks) };
  const { edits } = found;
  return edits.length === 0 ? { is: 'nothing' } : { is: 'change', after: withEdits(live, edits), edits };
}

export const whyLacking = (item: string): string => `it has no ${item}`;

function undoOf<Vm extends Annotated>(live: Vm, operation: string): WantedOfVm<Vm> {
  const record = changesOf(live.metadata.annotations).find((one) => one.operation === operation);
  if (record === undefined) return { is: 'nothing' };
  const { after, edits, kept } = undone(live, record.edits);
  const paths = kept.map(formatPath).join(', ');
  if (edits.length === 0) return { is: 'skipped', message: `it was changed since: ${paths}` };
  return { is: 'change', after, edits, ...(paths === '' ? {} : { kept: `it was changed since: ${paths}` }) };
}
