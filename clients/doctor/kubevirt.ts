import type { KubeObject } from '../../api/objects.ts';
import {
  CDIs,
  KubeVirts,
  VirtualMachineInstanceMigrations,
  VirtualMachinePools,
  type Resource,
} from '../../api/resources.ts';
import type { KubeVirt } from '../../decisions/from-object/kubevirt.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, isNotFound, isTransient } from '../../kubernetes/errors.ts';
import { call, failed, ok, warning, type Found } from './finding.ts';

interface Deployed extends KubeObject {
  status?: { phase?: string; observedVersion?: string };
}

export async function lookAtKubeVirt(kube: KubeClient): Promise<Found> {
  const installed = await listIfServed<KubeVirt & Deployed>(kube, KubeVirts);
  const [kubevirt] = installed ?? [];
  if (kubevirt === undefined)
    return failed('KubeVirt is not installed in this cluster', 'install it, or give another cluster with --context');
  const { phase, observedKubeVirtVersion: version } = kubevirt.status ?? {};
  if (phase !== undefined && phase !== 'Deployed')
    return warning(
      `KubeVirt ${version ?? ''} is ${phase}`,
      "see the conditions of the KubeVirt object, and virt-operator's log",
    );
  const strategy = kubevirt.spec?.configuration?.vmRolloutStrategy ?? null;
  const methods = kubevirt.spec?.workloadUpdateStrategy?.workloadUpdateMethods ?? [];
  const rollout = strategy === null ? "KubeVirt's default" : strategy;
  return ok(
    `KubeVirt ${version ?? 'of an unknown version'} is deployed; vmRolloutStrategy ${rollout}; workloadUpdateMethods ${methods.length === 0 ? 'none' : methods.join(', ')}`,
  );
}

/** Checks that the API server reaches virt-api, which restarts, starts and stops VMs. */
export async function lookAtSubresources(kube: KubeClient): Promise<Found> {
  try {
    await kube.request({ method: 'GET', path: '/apis/subresources.kubevirt.io/v1', ...call() });
  } catch (error) {
    if (!isNotFound(error) && !isTransient(error)) throw error;
    return failed(
      `the API server does not reach KubeVirt's virt-api (${error instanceof Error ? error.message : ''}): no VM can be restarted, started or stopped`,
      'see APIService v1.subresources.kubevirt.io, and the pods of virt-api',
    );
  }
  if ((await listIfServed(kube, VirtualMachineInstanceMigrations)) === undefined)
    return warning(
      'the cluster serves no live migrations',
      'install a KubeVirt that has VirtualMachineInstanceMigrations',
    );
  return ok('the API server reaches virt-api; live migrations are served');
}

/** Looks for CDI, if a pool's VMs have disks that it fills. */
export async function lookAtCdi(kube: KubeClient): Promise<Found> {
  const installed = await listIfServed<Deployed>(kube, CDIs);
  const pools = (await listIfServed(kube, VirtualMachinePools)) ?? [];
  const needing = pools.filter(hasDisks).map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
  const [cdi] = installed ?? [];
  if (cdi !== undefined && (cdi.status?.phase ?? 'Deployed') === 'Deployed')
    return ok(`CDI ${cdi.status?.observedVersion ?? ''} is deployed`.replace('  ', ' '));
  const state = cdi === undefined ? 'CDI is not installed' : `CDI is ${cdi.status?.phase}`;
  if (needing.length === 0) return ok(`${state}; no pool has dataVolumeTemplates, which need it`);
  const some = needing.slice(0, 3).join(', ') + (needing.length > 3 ? ` and ${needing.length - 3} more` : '');
  return failed(`${state}, and pools have dataVolumeTemplates: ${some}`, 'install CDI, or see its operator');
}

interface WithDisks {
  template?: { spec?: { dataVolumeTemplates?: unknown[] } };
}
const hasDisks = ({ spec }: KubeObject): boolean =>
  ((spec as WithDisks | undefined)?.template?.spec?.dataVolumeTemplates ?? []).length > 0;

/** Undefined if the API server does not know the kind. */
const listIfServed = async <T extends KubeObject>(kube: KubeClient, resource: Resource) =>
  (await ignoreNotFound(kube.list<T>(resource, call())))?.items;
