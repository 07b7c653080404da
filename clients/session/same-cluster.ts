import { KubeError, KubeUnreachable } from '../../kubernetes/errors.ts';
import { Failure } from '../cli/failure.ts';
import type { Session } from './session.ts';

/**
 * Throws `Failure` if drover's workers of this name act on another cluster than the command.
 * Trusts users who may not read the namespace kube-system, or who reach only Temporal.
 */
export async function ensureSameCluster(session: Session): Promise<void> {
  const [{ client }, { ClusterNameTaken, watchedCluster }] = await Promise.all([
    session.temporal(),
    import('../../workers/watch/cluster-watch.ts'),
  ]);
  const { cluster } = session;
  const [uid, watched] = await Promise.all([uidOf(session), watchedCluster(client, cluster)]);
  if (uid === undefined || watched === undefined || watched === uid) return;
  throw new Failure(new ClusterNameTaken({ cluster, uid }, watched).message);
}

async function uidOf(session: Session): Promise<string | undefined> {
  try {
    const [kube, { clusterUidOf }] = await Promise.all([session.kube(), import('../../kubernetes/cluster-uid.ts')]);
    return await clusterUidOf(kube);
  } catch (error) {
    if (error instanceof KubeError || error instanceof KubeUnreachable || error instanceof Failure) return undefined;
    throw error;
  }
}
