import type { VmWithVmi } from '../../decisions/views/from-object/vm-with-vmi.ts';
import { UsageError } from '../cli/failure.ts';
import { vmNamesOf } from '../cli/targets.ts';
import { scopeOf } from '../power/choose.ts';
import { readNamed, readVms } from '../power/read-vms.ts';
import type { Session } from '../session/session.ts';

/** Reads the VMs that are meant. Throws `UsageError`, and a `KubeError` (404) for a missing VM. */
export async function vmsToChange(
  session: Session,
  words: string[],
  { selector, allNamespaces = false }: { selector?: string; allNamespaces?: boolean },
): Promise<VmWithVmi[]> {
  if (words.length > 0 && selector !== undefined) throw new UsageError('give names or -l, not both');
  if (words.length > 0 && allNamespaces) throw new UsageError('give names or -A, not both');
  if (words.length > 0) return readNamed(await session.kube(), await session.namespace(), vmNamesOf(words));
  if (selector === undefined) throw new UsageError('which VMs? Give their names or -l');
  const scope = await scopeOf(session, { allNamespaces, selector });
  return readVms(await session.kube(), scope);
}
