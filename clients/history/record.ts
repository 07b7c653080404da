import { sentenceOf } from '../cli/failure.ts';
import { Pools } from '../cli/kinds.ts';
import { printNote } from '../cli/print.ts';
import { requestedBy } from '../session/requester.ts';
import { ensureSameCluster } from '../session/same-cluster.ts';
import type { Session } from '../session/session.ts';
import { workersIn } from '../session/workers.ts';

const WITHIN_MS = 5_000;

/** What a command has done to a pool. */
interface Act {
  action: 'scale';
  /** Names of the VMs. */
  vms: readonly string[];
  /** The number of VMs that were wanted, and that are. */
  from: number;
  to: number;
  /** The reason that was given. */
  reason?: string | undefined;
}

/**
 * Has the workflow of the pool keep what was done, for `drover history`. It is done already, and needs no
 * Temporal: if that can't be reached, the user is told, and if no address of it is known, nothing is tried.
 */
export async function recordAct(
  session: Session,
  key: { namespace: string; name: string },
  { vms, reason, ...act }: Act,
): Promise<void> {
  if (!(await session.knowsTemporal())) return;
  const [{ record }, { isWorkflowNotFound }] = await Promise.all([
    import('../../workflows/lib/messages.ts'),
    import('../session/temporal.ts'),
  ]);
  try {
    const { client } = await session.temporal();
    const cluster = await workersIn(session, key.namespace);
    await ensureSameCluster(session, cluster);
    const handle = client.workflow.getHandle(Pools.workflowId({ cluster, ...key }));
    const because = reason === undefined ? {} : { reason };
    const said = { ...act, ...because, vms: [...vms], by: await requestedBy(() => session.kube()) };
    await client.withDeadline(Date.now() + WITHIN_MS, () => handle.signal(record, said));
  } catch (error) {
    if (!isWorkflowNotFound(error)) printNote(`\`drover history\` will not say who asked: ${sentenceOf(error)}`);
  }
}
