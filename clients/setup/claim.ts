import { CLAIM_NAME, claimOf, type Claim } from '../../api/claims/claim.ts';
import { Leases } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { claimHolderOf } from '../../kubernetes/served.ts';
import { Failure } from '../cli/failure.ts';
import { outcomeOf } from '../fields/server-side-apply.ts';

interface ClaimOptions {
  kube: KubeClient;
  namespace: string;
  /** The name of the workers that it is left to. */
  cluster: string;
  dryRun: boolean;
  say: (line: string) => void;
}

/** Throws `Failure` if the namespace is left to other workers than these. */
export async function refuseOthers(kube: KubeClient, namespace: string, cluster: string): Promise<void> {
  const holder = await claimHolderOf(kube, namespace);
  if (holder === undefined || holder === cluster) return;
  throw new Failure(
    `namespace ${namespace} is left to the drover workers ${holder}: end these, and \`kubectl delete lease ${CLAIM_NAME} -n ${namespace}\``,
  );
}

/** Leaves the namespace to the workers of this name. Throws `Failure` if it is left to others. */
export async function claimNamespace({ kube, namespace, cluster, dryRun, say }: ClaimOptions): Promise<void> {
  await refuseOthers(kube, namespace, cluster);
  const at = { namespace, name: CLAIM_NAME };
  const before = await ignoreNotFound(kube.get<Claim>(Leases, at));
  const after = await kube.patch(Leases, at, 'apply', claimOf(namespace, cluster), { force: true, dryRun });
  say(`lease.coordination.k8s.io/${CLAIM_NAME} of namespace ${namespace} ${outcomeOf(before, after)}`);
}
