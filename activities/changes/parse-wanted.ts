import { parse } from 'yaml';
import type { VmPatch } from '../../api/operations/patch.ts';
import type { Wanted } from '../../decisions/changes/wanted.ts';
import { whyNoChange } from '../../decisions/changes/why-no-change.ts';
import type { Json } from '../../decisions/lib/json.ts';

/** Returns what an operation asks for. Throws a `RangeError`, a sentence, if no VM can be changed so. */
export function parseWanted({ merge = '', undo }: VmPatch): Wanted {
  if (undo !== undefined) return { undo };
  const patch = parsed(merge);
  const why = whyNoChange(patch);
  if (why !== null) throw new RangeError(`no VM was touched: ${why}`);
  return { patch: patch as Json };
}

function parsed(text: string): unknown {
  try {
    // Also finds values that are not JSON, such as an object that contains itself.
    return JSON.parse(JSON.stringify(parse(text)));
  } catch (error) {
    const [line = ''] = (error as Error).message.split('\n');
    throw new RangeError(`no VM was touched: spec.patch.merge is not valid YAML: ${line}`, { cause: error });
  }
}
