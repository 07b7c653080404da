import type { IntOrPercent } from '../../api/lib/int-or-percent.ts';
import { MAX_NAMES } from '../../api/operations/defaults-and-limits.ts';
import type { AnyOperation } from '../../api/operations/operation.ts';
import type { VmPatch } from '../../api/operations/patch.ts';
import { operationFor, selectionOf, type MakingFlags } from '../operations/make.ts';
import type { Session } from '../session/session.ts';

export interface ChangingFlags extends MakingFlags {
  atOnce: IntOrPercent;
  restart?: true;
  allNamespaces?: boolean;
}

/**
 * Returns the operation that changes these VMs, given by `namespace/name`: by their names or, if they are of all
 * namespaces or too many, by `selector`.
 */
export async function changeOperation(
  session: Session,
  { vms, selector }: { vms: readonly string[]; selector?: string | undefined },
  change: Pick<VmPatch, 'merge' | 'undo'>,
  { restart, allNamespaces = false, ...flags }: ChangingFlags,
): Promise<AnyOperation> {
  const isNamed = selector === undefined && !allNamespaces && vms.length <= MAX_NAMES;
  return operationFor(session, {
    ...flags,
    namespace: allNamespaces ? undefined : await session.namespace(),
    action: 'Patch',
    patch: { ...change, ...(restart === undefined ? {} : { restart }) },
    vms: selectionOf(
      isNamed
        ? { names: vms.map((key) => key.slice(key.indexOf('/') + 1)).toSorted() }
        : { names: [], selector: selector ?? '' },
    ),
  });
}
