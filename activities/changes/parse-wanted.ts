import { singleDocument } from '../../api/manifest/yaml-documents.ts';
import type { VmPatch } from '../../api/operations/patch.ts';
import type { Wanted } from '../../decisions/changes/wanted.ts';
import { whyNoChange } from '../../decisions/changes/why-no-change.ts';
import type { Json } from '../../decisions/lib/json.ts';

/** Returns what an operation asks for; `fault`: why no VM can be changed so, a sentence. */
export function parseWanted({ merge = '', undo }: VmPatch): Wanted | { fault: string } {
  if (undo !== undefined) return { undo };
  const read = singleDocument(merge);
  const message = 'fault' in read ? `spec.patch.merge: ${read.fault}` : whyNoChange(read.value);
  return 'value' in read && message === null
    ? { patch: read.value as Json }
    : { fault: `no VM was touched: ${message}` };
}
