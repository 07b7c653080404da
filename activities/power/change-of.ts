import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import { parseWanted } from '../changes/parse-wanted.ts';
import type { Change } from '../changes/vm-changer.ts';
import { runRefused } from '../operations/authority.ts';

/** Returns what `Patch` does; undefined for any other action, and if the operation is gone. */
export function changeOf(operation: StoredOperation | undefined): Change | undefined {
  const { metadata, spec } = operation ?? {};
  if (metadata === undefined || spec?.patch === undefined) return undefined;
  const { patch, requestedBy: by = 'unknown', reason } = spec;
  const record = { id: metadata.uid, operation: metadata.name, by, ...(reason === undefined ? {} : { reason }) };
  const wanted = parseWanted(patch);
  if ('fault' in wanted) throw runRefused(wanted.fault);
  return { wanted, restarts: patch.restart === true, record };
}
