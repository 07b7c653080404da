import { watchIdOf } from '../../workflows/lib/messages.ts';
import { printNote } from '../cli/print.ts';
import type { Session } from './session.ts';

/**
 * Notes it if Temporal knows no cluster of the command's name: that would look like a cluster in which nothing has
 * happened.
 */
export async function warnOfUnknownCluster(session: Session, cluster: string): Promise<void> {
  const unknown = await unknownCluster(session, cluster);
  if (unknown !== undefined) printNote(unknown);
}

/** Returns a sentence if Temporal knows no cluster of the command's name. */
async function unknownCluster(session: Session, cluster: string): Promise<string | undefined> {
  const { client, address } = await session.temporal();
  const { watchedCluster } = await import('../../workers/watch/cluster-watch.ts');
  if ((await watchedCluster(client, cluster)) !== undefined) return undefined;
  const known: string[] = [];
  const query = "WorkflowType = 'watch' AND ExecutionStatus = 'Running'";
  for await (const { workflowId } of client.workflow.list({ query }))
    known.push(workflowId.slice(watchIdOf('').length));
  const others = known.length === 0 ? 'none, and `drover setup` makes one known' : known.sort().join(', ');
  const where = `Temporal at ${address}`;
  return `no workflow watches a cluster named ${cluster} in ${where}; --cluster and DROVER_CLUSTER choose among: ${others}`;
}
