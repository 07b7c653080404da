import { parse } from 'yaml';
import type { VmPatch } from '../../api/operations/patch.ts';
import type { Wanted } from '../../decisions/changes/wanted.ts';
import { whyNoChange } from '../../decisions/changes/why-no-change.ts';
import type { Json } from '../../decisions/lib/json.ts';

/** Returns what an operation asks for; `fault`: why no VM can be changed so, a sentence. */
export function parseWanted({ merge = '', undo }: VmPatch): Wanted | { fault: string } {
  if (undo !== undefined) return { undo };
  try {
    // Also finds values that are not JSON, such as an object that contains itself.
    const patch: unknown = JSON.parse(JSON.stringify(parse(merge)));
    const message = whyNoChange(patch);
    return message === null ? { patch: patch as Json } : { fault: `no VM was touched: ${message}` };
  } catch (error) {
    const [line = ''] = (error as Error).message.split('\n');
    return { fault: `no VM was touched: spec.patch.merge is not valid YAML: ${line}` };
  }
}
