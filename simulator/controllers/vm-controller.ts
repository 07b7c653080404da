import { isDeepStrictEqual } from 'node:util';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { isNotFound, isTransient, KubeError } from '../../kubernetes/errors.ts';
import { keyOf } from '../../kubernetes/list-watch.ts';
import { FAIL_STARTS_DONE, failingStarts } from '../annotations.ts';
import { ObservationDelay } from '../observation-delay.ts';
import type { Cluster } from '../store/cluster.ts';
import { hasFinalizer, removeFinalizer } from '../store/finalizers.ts';
import { mayAdopt } from '../store/may-adopt.ts';
import { vmOwner } from '../store/vm-owner.ts';
import { WorkQueue } from '../store/work-queue.ts';
import type { PreferenceRef, VirtualMachine, VirtualMachineInstance, VirtualMachineStatus } from '../types.ts';
import { claimDataVolumes } from '../vm/data-volume-templates.ts';
import { isLiveUpdate } from '../vm/hotplug-capacity.ts';
import { defaultMachineType } from '../vm/machine-type.ts';
import { keepPreference } from '../vm/preferences.ts';
import { planRollout } from '../vm/rollout.ts';
import { nextStep, runStrategyOf } from '../vm/run-strategy.ts';
import { backoffFactorOf } from '../vm/start-failure.ts';
import { StartRevisions } from '../vm/start-revisions.ts';
import { isTheSame } from '../vm/started-from.ts';
import { vmStatus, type RestartRequired } from '../vm/status.ts';
import { claimsOf, dataVolumesOf } from '../vm/volumes.ts';
import { vmiOf, uuidFrom, withDefaults } from '../vmi/from-template.ts';
import { GENERATION_ANNOTATION, hasRun, isDeleting, isFinal, isReady, VM_CONTROLLER_FINALIZER } from '../vmi/vmi.ts';

type Vm = Stored<VirtualMachine>;
type Vmi = Stored<VirtualMachineInstance>;

/** A DataVolume of another controller doesn't enqueue the VM that waits for it, so the VM polls. */
const VOLUMES_AGAIN_MS = 5000;
const PREFERENCE_AGAIN_MS = 1000;
const START_AGAIN_MS = 1000;
const PLUG_AGAIN_MS = 1000;

interface Findings {
  failure?: Failure | undefined;
  restartRequired?: RestartRequired;
  starting?: boolean;
}
type Failure = { reason: string; message: string };

/** Keeps each VM's VMI as its run strategy asks, and the VM's status in line with its VMI. */
export class VmController {
  readonly #cluster: Cluster;
  readonly #queue: WorkQueue;
  readonly #lag = new ObservationDelay();
  readonly #startRevisions: StartRevisions;

  constructor(cluster: Cluster, concurrency: number) {
    this.#cluster = cluster;
    this.#startRevisions = new StartRevisions(cluster.client);
    this.#queue = new WorkQueue({
      concurrency,
      work: (key) => this.#work(key),
      onError: (key, error) => cluster.log.warn(`VirtualMachine ${key}: ${error.message}`),
    });
    const add = (key: string): void => this.#queue.add(key);
    cluster.vms.subscribe((key, before, after) => {
      if (before !== undefined && before.metadata.uid !== after?.metadata.uid) this.#startRevisions.forget(before);
      this.#lag.note(key, before, after, cluster.kubevirt, Date.now());
      add(key);
    });
    cluster.vmis.subscribe(add);
    const addUsers = (_key: string, before: Stored | undefined, after: Stored | undefined): void =>
      this.#addUsersOf((after ?? before)!);
    cluster.dataVolumes.subscribe(addUsers);
    cluster.claims.subscribe(addUsers);
    cluster.kubevirts.subscribe((_key, before, after) => {
      if (!isDeepStrictEqual(before?.spec, after?.spec)) for (const vm of cluster.vms.values()) add(keyOf(vm));
    });
  }

  start(): void {
    this.#queue.start();
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  /**
   * Enqueues the VM that owns a DataVolume or claim. VMs that only refer to it by name see the change in their next
   * reconcile.
   */
  #addUsersOf(object: Stored): void {
    const owner = controllerOf(object);
    if (owner === undefined) return;
    if (owner.kind === 'VirtualMachine') this.#queue.add(`${object.metadata.namespace}/${owner.name}`);
    if (owner.kind !== 'DataVolume') return;
    const dataVolume = this.#cluster.dataVolumes.get(`${object.metadata.namespace}/${owner.name}`);
    if (dataVolume !== undefined) this.#addUsersOf(dataVolume);
  }

  async #work(key: string): Promise<number | undefined> {
    const { vm, again = Infinity } = this.#lag.see(key, this.#cluster.vms.get(key), Date.now());
    if (vm === undefined) return undefined;
    const due = Math.min(again, (await this.#reconcile(vm)) ?? Infinity);
    return due === Infinity ? undefined : due;
  }

  async #reconcile(found: Vm): Promise<number | undefined> {
    const vmi = await this.#ownVmi(found);
    if (vmi !== undefined) this.#startRevisions.note(found, vmi);
    if (isDeleting(found)) {
      await this.#takeDown(found, vmi);
      return undefined;
    }
    const vm = await this.#admitted(found, vmi);
    let kept: PreferenceRef | undefined;
    try {
      kept = await keepPreference(this.#cluster.client, vm);
    } catch (error) {
      if (isTransient(error)) throw error;
      await this.#writeStatus(vm, vmi, {
        failure: { reason: 'FailedFindPreference', message: (error as Error).message },
      });
      return PREFERENCE_AGAIN_MS;
    }
    return this.#keep(kept === undefined ? vm : await this.#putStatus(vm, { ...vm.status, preferenceRef: kept }), vmi);
  }

  /** Returns the VM's VMI. Adopts a VMI of its name that has no controller, and ignores a VMI of another controller. */
  async #ownVmi(vm: Vm): Promise<Vmi | undefined> {
    const { vmis, client } = this.#cluster;
    const vmi = vmis.get(keyOf(vm));
    if (vmi === undefined) return undefined;
    const controller = controllerOf(vmi);
    if (controller !== undefined) return controller.uid === vm.metadata.uid ? vmi : undefined;
    if (isDeleting(vm) || isDeleting(vmi) || !(await mayAdopt(this.#cluster, vm))) return undefined;
    const { name, namespace } = vm.metadata;
    const { resourceVersion, ownerReferences = [] } = vmi.metadata;
    const patch = { metadata: { resourceVersion, ownerReferences: [...ownerReferences, vmOwner(vm.metadata)] } };
    return vmis.remember(
      await client.patch<VirtualMachineInstance>(vmis.resource, { namespace, name }, 'merge', patch),
    );
  }

  async #takeDown(vm: Vm, vmi: Vmi | undefined): Promise<void> {
    const orphaning = hasFinalizer(vm, 'orphan');
    if (!orphaning && vmi !== undefined) {
      if (!isDeleting(vmi)) await this.#delete(vmi);
      await this.#writeStatus(vm, vmi, {});
      await this.#release(vmi);
      return;
    }
    if (hasFinalizer(vm, VM_CONTROLLER_FINALIZER)) {
      await removeFinalizer(this.#cluster, this.#cluster.vms, vm, VM_CONTROLLER_FINALIZER);
    }
  }

  async #keep(vm: Vm, vmi: Vmi | undefined): Promise<number | undefined> {
    const { ready: volumesReady, failure: volumeFailure } = await claimDataVolumes(this.#cluster, vm);
    if (volumeFailure !== undefined || (!volumesReady && runStrategyOf(vm) !== 'Halted')) {
      await this.#writeStatus(vm, vmi, { failure: volumeFailure });
      return VOLUMES_AGAIN_MS;
    }
    const step = nextStep(vm, vmi, Date.now());
    switch (step.do) {
      case 'request-start':
        await this.#writeStatus(await this.#requestStart(vm), vmi, {});
        return 0;
      case 'become-always':
        await this.#becomeAlways(vm);
        return undefined;
      case 'start': {
        const failure = await this.#start(vm);
        // As in KubeVirt, this pass ignores the VMI that it has just created; the next pass sees it.
        await this.#writeStatus(vm, undefined, {
          failure,
          restartRequired: 'none',
          starting: failure === undefined,
        });
        return failure === undefined ? undefined : START_AGAIN_MS;
      }
      case 'stop':
        // The VMI's result is recorded before the VMI is deleted.
        await this.#writeStatus(vm, vmi, {
          restartRequired: this.#rolloutOf(vm, vmi!).restartRequired,
        });
        await this.#delete(vmi!);
        return undefined;
      case 'wait':
      case 'nothing': {
        if (vmi === undefined) {
          await this.#writeStatus(vm, undefined, {});
          return step.do === 'wait' ? step.until - Date.now() : undefined;
        }
        const { current, restartRequired, failure } = await this.#rollOut(vm, vmi);
        await this.#writeStatus(vm, current, { restartRequired, failure });
        await this.#release(current);
        return failure === undefined ? undefined : PLUG_AGAIN_MS;
      }
    }
  }

  /** Adds the finalizer, admission's defaults, and which `fail-starts` is done; all in one write. */
  async #admitted(vm: Vm, vmi: Vmi | undefined): Promise<Vm> {
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

  async #start(vm: Vm): Promise<Failure | undefined> {
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

  async #delete(vmi: Vmi): Promise<void> {
    const { client, vmis } = this.#cluster;
    const { namespace, name, uid } = vmi.metadata;
    try {
      await client.delete(vmis.resource, { namespace, name }, { uid });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Removes the finalizer of a finished VMI, whose end has been recorded. */
  async #release(vmi: Vmi): Promise<void> {
    const { vmis } = this.#cluster;
    const current = vmis.get(keyOf(vmi));
    if (current === undefined || !isFinal(current) || !hasFinalizer(current, VM_CONTROLLER_FINALIZER)) return;
    await removeFinalizer(this.#cluster, vmis, current, VM_CONTROLLER_FINALIZER);
  }

  #rolloutOf(vm: Vm, vmi: Vmi): ReturnType<typeof planRollout> {
    return planRollout(vm, vmi, isLiveUpdate(this.#cluster.kubevirt));
  }

  /**
   * Applies the live-updatable changes of the VM's template to its VMI. Also updates the VMI's generation annotation if
   * the template is the one that the VMI was started from.
   */
  async #rollOut(
    vm: Vm,
    vmi: Vmi,
  ): Promise<{ current: Vmi; restartRequired: RestartRequired; failure?: Failure | undefined }> {
    const { client, vmis } = this.#cluster;
    const { live, restartRequired, failure } = this.#rolloutOf(vm, vmi);
    const generation = String(vm.metadata.generation ?? 1);
    const { annotations } = vmi.metadata;
    const isOf = annotations?.[GENERATION_ANNOTATION] === generation || !isTheSame(vmi, vm.spec.template);
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

  async #requestStart(vm: Vm): Promise<Vm> {
    const requests = [...(vm.status?.stateChangeRequests ?? []), { action: 'Start' as const }];
    return this.#putStatus(vm, { ...vm.status, stateChangeRequests: requests });
  }

  async #becomeAlways(vm: Vm): Promise<void> {
    const { client, vms } = this.#cluster;
    const { namespace, name, resourceVersion } = vm.metadata;
    const spec = vm.spec.runStrategy === undefined ? { running: true } : { runStrategy: 'Always' };
    const patch = { metadata: { resourceVersion }, spec };
    vms.remember(await client.patch<VirtualMachine>(vms.resource, { namespace, name }, 'merge', patch));
  }

  async #writeStatus(vm: Vm, vmi: Vmi | undefined, found: Findings): Promise<void> {
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
    if (status !== vm.status) await this.#putStatus(vm, status);
  }

  async #putStatus(vm: Vm, status: VirtualMachineStatus): Promise<Vm> {
    const { client, vms } = this.#cluster;
    const written = await client.update<VirtualMachine>(vms.resource, { ...vm, status }, { subresource: 'status' });
    return vms.remember(written);
  }
}

/** The VMI's next write follows at once and changes the VM's status again: one status write for both is enough. */
const isAboutToStop = (vmi: Vmi): boolean => isDeleting(vmi) && !isFinal(vmi) && isReady(vmi);
