import { workersOf } from '../../api/claims/claim.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { servedUidOf } from '../../kubernetes/served.ts';
import { ClusterNameTaken, ensureWatch } from '../../workers/watch/cluster-watch.ts';
import { watchIdOf } from '../../workflows/lib/messages.ts';
import { searchAttributes } from '../../workflows/lib/search-attributes.ts';
import { Failure } from '../cli/failure.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { print, dryRunSuffix } from '../cli/print.ts';
import type { Work } from '../session/session.ts';
import type { Temporal } from '../session/temporal.ts';
import { claimNamespace, refuseOthers } from './claim.ts';
import { applyCrds, applyPolicies, checkCrds } from './crds.ts';
import { missingSearchAttributes, registerSearchAttributes } from './search-attributes.ts';

interface SetupOptions {
  kube: KubeClient;
  temporal: Temporal;
  /** drover's name for the cluster. */
  cluster: string;
  /** Namespaces that have their own workers: a user with rights only in these can set them up. */
  namespaces?: readonly string[] | undefined;
  /** Into how many shards the cluster is divided from now on; undefined if that stays as it is. */
  shards?: number | undefined;
  /** Report what would be done, without doing it. */
  dryRun?: boolean;
  /** Called with one line for each thing that was done or found. */
  say: (line: string) => void;
}

/** Makes the cluster and Temporal of the session ready for drover. */
export const setUpCluster: Work<{ dryRun: DryRun; onlyNamespace?: string[]; shards?: number }> = async (
  session,
  { dryRun, onlyNamespace: namespaces, shards },
) => {
  const [kube, temporal] = await Promise.all([session.kube(), session.temporal()]);
  const say = (line: string): void => print(line + dryRunSuffix(dryRun));
  await setup({ kube, temporal, cluster: session.cluster, namespaces, shards, dryRun: dryRun !== 'none', say });
};

/**
 * Makes a cluster and a Temporal namespace ready for drover: its custom resources, its search attributes, and the
 * workflow that watches the cluster. Safe to repeat. Throws `Failure` with one sentence.
 */
export async function setup(options: SetupOptions): Promise<void> {
  const { kube, temporal, cluster, namespaces, dryRun = false, say } = options;
  // Checks what may be refused before anything is written.
  const missing = await missingSearchAttributes(temporal);
  if (namespaces === undefined) {
    await applyCrds(kube, { dryRun, say });
    await applyPolicies(kube, { dryRun, say });
  } else {
    await checkCrds(kube, namespaces[0]!, say);
    for (const namespace of namespaces) await refuseOthers(kube, namespace, workersOf(cluster, namespace));
  }
  if (!dryRun) await registerSearchAttributes(temporal, missing);
  for (const attribute of searchAttributes) {
    say(`search attribute ${attribute.name} ${missing.includes(attribute) ? 'registered' : 'unchanged'}`);
  }
  if (namespaces === undefined) return setUpWatch({ ...options, dryRun });
  for (const namespace of namespaces) {
    const one = { kube, temporal, cluster: workersOf(cluster, namespace), namespace, dryRun, say };
    await setUpWatch(one);
    await claimNamespace(one);
  }
}

interface WatchOptions extends Omit<SetupOptions, 'namespaces'> {
  /** The only namespace that is watched. */
  namespace?: string;
}

/**
 * Starts the workflow that watches the cluster, or a namespace, or leaves the running one as it is, unless it is to be
 * divided otherwise. Throws `Failure` if that one watches anything else.
 */
async function setUpWatch(options: WatchOptions): Promise<void> {
  const { kube, temporal, cluster, namespace, shards, dryRun = false, say } = options;
  try {
    const uid = await servedUidOf(kube, namespace);
    const choice = { isDry: dryRun, ...(shards === undefined ? {} : { shards, ifOther: 'Change' as const }) };
    const wasRunning = await ensureWatch(temporal.client, { cluster, namespace, uid }, choice);
    const number = shards === undefined ? '' : `, with ${shards} ${shards === 1 ? 'shard' : 'shards'}`;
    say(`workflow ${watchIdOf(cluster)} ${wasRunning ? 'is running' : 'started'}${number}`);
  } catch (error) {
    if (error instanceof ClusterNameTaken) throw new Failure(error.message, { cause: error });
    throw error;
  }
}
