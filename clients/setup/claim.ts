import { CLAIM_NAME, claimOf, type Claim } from '../../api/claim.ts';
import { Leases } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure } from '../cli/failure.ts';
import { outcomeOf, readIfThere } from '../fields/server-side-apply.ts';

interface ClaimOptions {
  kube: KubeClient;
  namespace: string;
  cluster: string;
  dryRun: boolean;
  say: (line: string) => void;
}

/** Leaves the namespace to the workers of this name. Throws `Failure` if it is left to others. */
export async function claimNamespace({ kube, namespace, cluster, dryRun, say }: ClaimOptions): Promise<void> {
  const at = { namespace, name: CLAIM_NAME };
  const before = await readIfThere<Claim>(kube, Leases, at);
  const holder = before?.spec?.holderIdentity;
  if (holder !== undefined && holder !== cluster)
    throw new Failure(
      `namespace ${namespace} is left to the drover workers of ${holder}: end these, and \`kubectl delete lease ${CLAIM_NAME} -n ${namespace}\``,
    );
  const after = await kube.patch(Leases, at, 'apply', claimOf(namespace, cluster), { force: true, dryRun });
  say(`lease.coordination.k8s.io/${CLAIM_NAME} ${outcomeOf(before, after)}`);
}
