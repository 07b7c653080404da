import { ignoreNotFound, KubeError } from '../../kubernetes/errors.ts';
import { namespacedName } from '../../kubernetes/versioned-store.ts';
import { FAIL_STARTS_DONE, failingStarts } from '../objects/annotations.ts';
import type { VirtualMachine, VirtualMachineInstance, VirtualMachineStatus, Vm, Vmi } from '../objects/kubevirt.ts';
import {
  GENERATION_ANNOTATION,
  hasRun,
  isDeleting,
  isFinal,
  isReady,
  VM_CONTROLLER_FINALIZER,
} from '../objects/vmi.ts';
import { claimsOf, dataVolumesOf } from '../objects/volumes.ts';
import type { Cluster } from '../store/cluster.ts';
import { hasFinalizer, removeFinalizer } from '../store/finalizers.ts';
import { isSameTemplate } from '../vm/applied-template.ts';
import { isLiveUpdate } from '../vm/hotplug-capacity.ts';
import { defaultMachineType } from '../vm/machine-type.ts';
import { planRollout } from '../vm/rollout.ts';
import { backoffFactorOf } from '../vm/start-failure.ts';
import type { StartRevisions } from '../vm/start-revisions.ts';
import { vmStatus, type RestartRequired } from '../vm/status.ts';
import { vmiOf, uuidFrom, withDefaults } from '../vmi/from-template.ts';

interface Findings {
  failure?: Failure | undefined;
  restartRequired?: RestartRequired;
  starting?: boolean;
}
type Failure = { reason: string; message: string };

/** What the VM controller writes: VMs with their status, and their VMIs. */
export class VmWrites {
  readonly #cluster: Cluster;
  readonly #startRevisions: StartRevisions;

  constructor(cluster: Cluster, startRevisions: StartRevisions) {
    this.#cluster = cluster;
    this.#startRevisions = startRevisions;
  }

  /** Adds the finalizer, admission's defaults, and which `fail-starts` is done; all in one write. */
  async admitted(vm: Vm, vmi: Vmi | undefined): Promise<Vm> {
    const { client, vms, kubevirt } = this.#cluster;
    const { namespace, name, uid, resourceVersion, finalizers = [], annotations } = vm.metadata;
    const template = vm.spec.template;
    const spec = withDefaults(
      template.spec,
      defaultMachineType(kubevirt, template.spec.architecture),
      vmi?.spec.domain.firmware?.uuid ?? uuidFrom(uid),
    );
    const failed = vmi !== undefined && hasRun(vmi) ? String(failingStarts(vmi.metadata)) : '0';
    const lived = !['0', 'Infinity', annotations?.[FAIL_STARTS_DONE]].includes(failed);
    if (finalizers.includes(VM_CONTROLLER_FINALIZER) && spec === template.spec && !lived) return vm;
    const { machine: type, firmware } = spec.domain;
    const patch = {
      metadata: {
        resourceVersion,
        ...(finalizers.includes(VM_CONTROLLER_FINALIZER)
          ? {}
          : { finalizers: [...finalizers, VM_CONTROLLER_FINALIZER] }),
        ...(lived ? { annotations: { [FAIL_STARTS_DONE]: failed } } : {}),
      },
      ...(spec === template.spec ? {} : { spec: { template: { spec: { domain: { machine: type, firmware } } } } }),
    };
    return vms.remember(await client.patch<VirtualMachine>(vms.resource, { namespace, name }, 'merge', patch));
  }

  async start(vm: Vm): Promise<Failure | undefined> {
    const { client, vmis, kubevirt } = this.#cluster;
    try {
      const virtualMachineRevisionName = await this.#startRevisions.keep(vm);
      const { status, ...vmi } = vmiOf(vm, kubevirt, Date.now());
      const created = await client.create<VirtualMachineInstance>(vmis.resource, {
        ...vmi,
        status: { ...status, virtualMachineRevisionName },
      });
      vmis.remember(created);
      return undefined;
    } catch (error) {
      // As in KubeVirt, the VM's status shows whatever the API server refuses.
      if (!(error instanceof KubeError)) throw error;
      return { reason: 'FailedCreate', message: `Failure while starting VMI: ${error.message}` };
    }
  }

  async delete(vmi: Vmi): Promise<void> {
    const { client, vmis } = this.#cluster;
    const { namespace, name, uid } = vmi.metadata;
    await ignoreNotFound(client.delete(vmis.resource, { namespace, name }, { uid }));
  }

  /** Removes the finalizer of a finished VMI, whose end has been recorded. */
  async release(vmi: Vmi): Promise<void> {
    const { vmis } = this.#cluster;
    const current = vmis.get(namespacedName(vmi));
    if (current === undefined || !isFinal(current) || !hasFinalizer(current, VM_CONTROLLER_FINALIZER)) return;
    await removeFinalizer(this.#cluster, vmis, current, VM_CONTROLLER_FINALIZER);
  }

  rolloutOf(vm: Vm, vmi: Vmi): ReturnType<typeof planRollout> {
    return planRollout(vm, vmi, isLiveUpdate(this.#cluster.kubevirt));
  }

  /**
   * Applies the live-updatable changes of the VM's template to its VMI. Also updates the VMI's generation annotation if
   * the VMI was started from the same template.
   */
  async rollOut(
    vm: Vm,
    vmi: Vmi,
  ): Promise<{ current: Vmi; restartRequired: RestartRequired; failure?: Failure | undefined }> {
    const { client, vmis } = this.#cluster;
    const { live, restartRequired, failure } = this.rolloutOf(vm, vmi);
    const generation = String(vm.metadata.generation ?? 1);
    const { annotations } = vmi.metadata;
    const isOf = annotations?.[GENERATION_ANNOTATION] === generation || !isSameTemplate(vmi, vm.spec.template);
    if (live === undefined && isOf) return { current: vmi, restartRequired, failure };
    const metadata = isOf
      ? vmi.metadata
      : { ...vmi.metadata, annotations: { ...annotations, [GENERATION_ANNOTATION]: generation } };
    const next = { ...vmi, metadata, spec: live ?? vmi.spec };
    return {
      current: vmis.remember(await client.update<VirtualMachineInstance>(vmis.resource, next)),
      restartRequired,
      failure,
    };
  }

  async requestStart(vm: Vm): Promise<Vm> {
    const requests = [...(vm.status?.stateChangeRequests ?? []), { action: 'Start' as const }];
    return this.putStatus(vm, { ...vm.status, stateChangeRequests: requests });
  }

  async becomeAlways(vm: Vm): Promise<void> {
    const { client, vms } = this.#cluster;
    const { namespace, name, resourceVersion } = vm.metadata;
    const spec = vm.spec.runStrategy === undefined ? { running: true } : { runStrategy: 'Always' };
    const patch = { metadata: { resourceVersion }, spec };
    vms.remember(await client.patch<VirtualMachine>(vms.resource, { namespace, name }, 'merge', patch));
  }

  async writeStatus(vm: Vm, vmi: Vmi | undefined, found: Findings): Promise<void> {
    if (vmi !== undefined && isAboutToStop(vmi)) return;
    const { dataVolumes, claims, kubevirt } = this.#cluster;
    const { namespace } = vm.metadata;
    const spec = vm.spec.template.spec;
    const volumes = dataVolumesOf(spec)
      .map((name) => dataVolumes.get(`${namespace}/${name}`))
      .filter((found) => found !== undefined);
    const status = vmStatus({
      vm,
      vmi,
      dataVolumePhases: volumes.map((volume) => volume.status?.phase),
      unboundClaim: claimsOf(spec).some(
        (name) => (claims.get(`${namespace}/${name}`)?.status?.phase ?? 'Bound') !== 'Bound',
      ),
      restartRequired: found.restartRequired ?? 'kept',
      starting: found.starting ?? false,
      failure: found.failure,
      now: Date.now(),
      random: Math.random(),
      backoffFactor: backoffFactorOf(kubevirt),
    });
    if (status !== vm.status) await this.putStatus(vm, status);
  }

  async putStatus(vm: Vm, status: VirtualMachineStatus): Promise<Vm> {
    const { client, vms } = this.#cluster;
    const written = await client.update<VirtualMachine>(vms.resource, { ...vm, status }, { subresource: 'status' });
    return vms.remember(written);
  }
}

/** The VMI's next write follows at once and changes the VM's status again: one status write for both is enough. */
const isAboutToStop = (vmi: Vmi): boolean => isDeleting(vmi) && !isFinal(vmi) && isReady(vmi);
