import { KubeError, KubeUnreachable } from '../../kubernetes/errors.ts';
import { Failure } from '../cli/failure.ts';
import type { Session } from './session.ts';

/**
 * Throws `Failure` if drover's workers of this name act on another cluster than the command, or on another namespace.
 * Trusts users who may not read the namespace kube-system, or who reach only Temporal.
 */
export async function ensureSameCluster(session: Session, cluster: string): Promise<void> {
  const [{ client }, { ClusterNameTaken, watchedCluster }] = await Promise.all([
    session.temporal(),
    import('../../workers/watch/cluster-watch.ts'),
  ]);
  const watched = await watchedCluster(client, cluster);
  const namespace = watched?.namespace;
  const uid = watched === undefined ? undefined : await uidOf(session, namespace);
  if (uid !== undefined && watched?.uid !== uid)
    throw new Failure(new ClusterNameTaken({ cluster, namespace, uid }, watched ?? null).message);
  const own = await session.namespace();
  if (namespace !== undefined && namespace !== own)
    throw new Failure(`drover's workers of the name ${cluster} serve namespace ${namespace} alone, and not ${own}`);
}

async function uidOf(session: Session, namespace: string | undefined): Promise<string | undefined> {
  try {
    const [kube, { servedUidOf }] = await Promise.all([session.kube(), import('../../kubernetes/served.ts')]);
    return await servedUidOf(kube, namespace);
  } catch (error) {
    if (error instanceof KubeError || error instanceof KubeUnreachable || error instanceof Failure) return undefined;
    throw error;
  }
}
