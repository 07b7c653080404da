import { controllerOf, type Stored } from '../../api/objects.ts';
import { isAlreadyExists, KubeError } from '../../kubernetes/errors.ts';
import type { DataVolume, DataVolumeTemplate, VirtualMachine } from '../objects/kubevirt.ts';
import { vmOwner } from '../objects/vm-owner.ts';
import { isDeleting } from '../objects/vmi.ts';
import { adopt, mayAdopt } from '../store/adopt.ts';
import type { Cluster } from '../store/cluster.ts';

const USABLE = new Set(['Succeeded', 'WaitForFirstConsumer', 'PendingPopulation']);

interface VolumesState {
  /** True if all DataVolumes of the VM's templates are usable: populated, or waiting for their first consumer. */
  ready: boolean;
  failure?: { reason: string; message: string };
}

/** Creates the DataVolumes of a VM's templates, and adopts existing ones of the right name that have no controller. */
export async function claimDataVolumes(cluster: Cluster, vm: Stored<VirtualMachine>): Promise<VolumesState> {
  const { client, dataVolumes } = cluster;
  const { namespace } = vm.metadata;
  let ready = true;
  for (const template of vm.spec.dataVolumeTemplates ?? []) {
    const found = dataVolumes.get(`${namespace}/${template.metadata.name}`);
    try {
      if (found === undefined)
        dataVolumes.remember(await client.create<DataVolume>(dataVolumes.resource, fromTemplate(template, vm)));
      else if (controllerOf(found) === undefined && !isDeleting(found)) {
        if (!(await mayAdopt(cluster, vm))) return { ready: false };
        await adopt(cluster, dataVolumes, found, vmOwner(vm.metadata));
      }
    } catch (error) {
      if (isAlreadyExists(error)) return { ready: false };
      if (!(error instanceof KubeError) || error.reason === 'Conflict') throw error;
      const message = `Error encountered while creating DataVolumes: failed to create DataVolume: ${error.message}`;
      return { ready: false, failure: { reason: 'FailedCreate', message } };
    }
    if (!USABLE.has(found?.status?.phase ?? '')) ready = false;
  }
  return { ready };
}

export function fromTemplate({ metadata, spec }: DataVolumeTemplate, vm: Stored<VirtualMachine>): DataVolume {
  const { namespace, uid } = vm.metadata;
  return {
    metadata: {
      name: metadata.name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...metadata.labels, 'kubevirt.io/created-by': uid },
      annotations: { ...metadata.annotations, 'cdi.kubevirt.io/allowClaimAdoption': 'true' },
      ownerReferences: [vmOwner(vm.metadata)],
    },
    spec,
  };
}
