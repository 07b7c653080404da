import type { VmView } from '../../decisions/views/vm.ts';
import { transitionIdOf } from '../../workflows/lib/messages.ts';
import { sentenceOf } from '../cli/failure.ts';
import { isRunning } from '../runs/meant.ts';
import type { Session } from '../session/session.ts';

/** Other transitions that still run, and so keep this one away from VMs with their marks. */
export interface OthersRunning {
  ids: ReadonlySet<string>;
  /** Why it is unknown which of them run; null if it is known. */
  unknown: string | null;
}

/** Returns the transitions that left something on VMs and still run. Asks Temporal only if there are any. */
export async function othersRunning(session: Session, vms: readonly VmView[]): Promise<OthersRunning> {
  const left = vms.flatMap(({ transition, transitionMark }) => [transition?.id, transitionMark]);
  const ids = [...new Set(left)].filter((id) => id !== undefined && id !== null);
  if (ids.length === 0) return { ids: new Set(), unknown: null };
  if (!(await session.knowsTemporal())) return unknown("give Temporal's address with --address");
  try {
    const { client } = await session.temporal();
    const run = await Promise.all(
      ids.map((id) => isRunning(client.workflow.getHandle(transitionIdOf(session.cluster, id)))),
    );
    return { ids: new Set(ids.filter((_, index) => run[index])), unknown: null };
  } catch (error) {
    return unknown(sentenceOf(error));
  }
}

const unknown = (why: string): OthersRunning => ({
  ids: new Set(),
  unknown: `whether another transition is at work on some of these VMs is not known: ${why}`,
});
