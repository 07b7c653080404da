import { isDeepStrictEqual } from 'node:util';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { isNotFound, isTransient, KubeError } from '../../kubernetes/errors.ts';
import { keyOf } from '../../kubernetes/list-watch.ts';
import { FAIL_STARTS_DONE, failingStarts } from '../knobs.ts';
import { Lag } from '../lag.ts';
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
import { machineStatus, type RestartRequired } from '../vm/status.ts';
import { claimsOf, dataVolumesOf } from '../vm/volumes.ts';
import { instanceOf, uuidFrom, withDefaults } from '../vmi/from-template.ts';
import { GENERATION_ANNOTATION, hasRun, isDeleting, isFinal, isReady, VM_CONTROLLER_FINALIZER } from '../vmi/vmi.ts';

type Machine = Stored<VirtualMachine>;
type Instance = Stored<VirtualMachineInstance>;

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
export class MachineController {
  readonly #cluster: Cluster;
  readonly #queue: WorkQueue;
  readonly #lag = new Lag();
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
    cluster.machines.subscribe((key, before, after) => {
      if (before !== undefined && before.metadata.uid !== after?.metadata.uid) this.#startRevisions.forget(before);
      this.#lag.note(key, before, after, cluster.kubevirt, Date.now());
      add(key);
    });
    cluster.instances.subscribe(add);
    const addUsers = (_key: string, before: Stored | undefined, after: Stored | undefined): void =>
      this.#addUsersOf((after ?? before)!);
    cluster.dataVolumes.subscribe(addUsers);
    cluster.claims.subscribe(addUsers);
    cluster.kubevirts.subscribe((_key, before, after) => {
      if (!isDeepStrictEqual(before?.spec, after?.spec))
        for (const machine of cluster.machines.values()) add(keyOf(machine));
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
    const { machine, again = Infinity } = this.#lag.see(key, this.#cluster.machines.get(key), Date.now());
    if (machine === undefined) return undefined;
    const due = Math.min(again, (await this.#reconcile(machine)) ?? Infinity);
    return due === Infinity ? undefined : due;
  }

  async #reconcile(found: Machine): Promise<number | undefined> {
    const instance = await this.#ownInstance(found);
    if (instance !== undefined) this.#startRevisions.note(found, instance);
    if (isDeleting(found)) {
      await this.#takeDown(found, instance);
      return undefined;
    }
    const machine = await this.#admitted(found, instance);
    let kept: PreferenceRef | undefined;
    try {
      kept = await keepPreference(this.#cluster.client, machine);
    } catch (error) {
      if (isTransient(error)) throw error;
      await this.#writeStatus(machine, instance, {
        failure: { reason: 'FailedFindPreference', message: (error as Error).message },
      });
      return PREFERENCE_AGAIN_MS;
    }
    return this.#keep(
      kept === undefined ? machine : await this.#putStatus(machine, { ...machine.status, preferenceRef: kept }),
      instance,
    );
  }

  /** Returns the VM's VMI. Adopts a VMI of its name that has no controller, and ignores a VMI of another controller. */
  async #ownInstance(machine: Machine): Promise<Instance | undefined> {
    const { instances, client } = this.#cluster;
    const instance = instances.get(keyOf(machine));
    if (instance === undefined) return undefined;
    const controller = controllerOf(instance);
    if (controller !== undefined) return controller.uid === machine.metadata.uid ? instance : undefined;
    if (isDeleting(machine) || isDeleting(instance) || !(await mayAdopt(this.#cluster, machine))) return undefined;
    const { name, namespace } = machine.metadata;
    const { resourceVersion, ownerReferences = [] } = instance.metadata;
    const patch = { metadata: { resourceVersion, ownerReferences: [...ownerReferences, vmOwner(machine.metadata)] } };
    return instances.remember(
      await client.patch<VirtualMachineInstance>(instances.resource, { namespace, name }, 'merge', patch),
    );
  }

  async #takeDown(machine: Machine, instance: Instance | undefined): Promise<void> {
    const orphaning = hasFinalizer(machine, 'orphan');
    if (!orphaning && instance !== undefined) {
      if (!isDeleting(instance)) await this.#delete(instance);
      await this.#writeStatus(machine, instance, {});
      await this.#release(instance);
      return;
    }
    if (hasFinalizer(machine, VM_CONTROLLER_FINALIZER)) {
      await removeFinalizer(this.#cluster, this.#cluster.machines, machine, VM_CONTROLLER_FINALIZER);
    }
  }

  async #keep(machine: Machine, instance: Instance | undefined): Promise<number | undefined> {
    const { ready: volumesReady, failure: volumeFailure } = await claimDataVolumes(this.#cluster, machine);
    if (volumeFailure !== undefined || (!volumesReady && runStrategyOf(machine) !== 'Halted')) {
      await this.#writeStatus(machine, instance, { failure: volumeFailure });
      return VOLUMES_AGAIN_MS;
    }
    const step = nextStep(machine, instance, Date.now());
    switch (step.do) {
      case 'request-start':
        await this.#writeStatus(await this.#requestStart(machine), instance, {});
        return 0;
      case 'become-always':
        await this.#becomeAlways(machine);
        return undefined;
      case 'start': {
        const failure = await this.#start(machine);
        // As in KubeVirt, this pass ignores the VMI that it has just created; the next pass sees it.
        await this.#writeStatus(machine, undefined, {
          failure,
          restartRequired: 'none',
          starting: failure === undefined,
        });
        return failure === undefined ? undefined : START_AGAIN_MS;
      }
      case 'stop':
        // The VMI's result is recorded before the VMI is deleted.
        await this.#writeStatus(machine, instance, {
          restartRequired: this.#rolloutOf(machine, instance!).restartRequired,
        });
        await this.#delete(instance!);
        return undefined;
      case 'wait':
      case 'nothing': {
        if (instance === undefined) {
          await this.#writeStatus(machine, undefined, {});
          return step.do === 'wait' ? step.until - Date.now() : undefined;
        }
        const { current, restartRequired, failure } = await this.#rollOut(machine, instance);
        await this.#writeStatus(machine, current, { restartRequired, failure });
        await this.#release(current);
        return failure === undefined ? undefined : PLUG_AGAIN_MS;
      }
    }
  }

  /** Adds the finalizer, admission's defaults, and which `fail-starts` is done; all in one write. */
  async #admitted(machine: Machine, instance: Instance | undefined): Promise<Machine> {
    const { client, machines, kubevirt } = this.#cluster;
    const { namespace, name, uid, resourceVersion, finalizers = [], annotations } = machine.metadata;
    const template = machine.spec.template;
    const spec = withDefaults(
      template.spec,
      defaultMachineType(kubevirt, template.spec.architecture),
      instance?.spec.domain.firmware?.uuid ?? uuidFrom(uid),
    );
    const failed = instance !== undefined && hasRun(instance) ? String(failingStarts(instance.metadata)) : '0';
    const lived = !['0', 'Infinity', annotations?.[FAIL_STARTS_DONE]].includes(failed);
    if (finalizers.includes(VM_CONTROLLER_FINALIZER) && spec === template.spec && !lived) return machine;
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
    return machines.remember(
      await client.patch<VirtualMachine>(machines.resource, { namespace, name }, 'merge', patch),
    );
  }

  async #start(machine: Machine): Promise<Failure | undefined> {
    const { client, instances, kubevirt } = this.#cluster;
    try {
      const virtualMachineRevisionName = await this.#startRevisions.keep(machine);
      const { status, ...instance } = instanceOf(machine, kubevirt, Date.now());
      const created = await client.create<VirtualMachineInstance>(instances.resource, {
        ...instance,
        status: { ...status, virtualMachineRevisionName },
      });
      instances.remember(created);
      return undefined;
    } catch (error) {
      // As in KubeVirt, the VM's status shows whatever the API server refuses.
      if (!(error instanceof KubeError)) throw error;
      return { reason: 'FailedCreate', message: `Failure while starting VMI: ${error.message}` };
    }
  }

  async #delete(instance: Instance): Promise<void> {
    const { client, instances } = this.#cluster;
    const { namespace, name, uid } = instance.metadata;
    try {
      await client.delete(instances.resource, { namespace, name }, { uid });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Removes the finalizer of a finished VMI, whose end has been recorded. */
  async #release(instance: Instance): Promise<void> {
    const { instances } = this.#cluster;
    const current = instances.get(keyOf(instance));
    if (current === undefined || !isFinal(current) || !hasFinalizer(current, VM_CONTROLLER_FINALIZER)) return;
    await removeFinalizer(this.#cluster, instances, current, VM_CONTROLLER_FINALIZER);
  }

  #rolloutOf(machine: Machine, instance: Instance): ReturnType<typeof planRollout> {
    return planRollout(machine, instance, isLiveUpdate(this.#cluster.kubevirt));
  }

  /**
   * Applies the live-updatable changes of the VM's template to its VMI. Also updates the VMI's generation annotation if
   * the template is the one that the VMI was started from.
   */
  async #rollOut(
    machine: Machine,
    instance: Instance,
  ): Promise<{ current: Instance; restartRequired: RestartRequired; failure?: Failure | undefined }> {
    const { client, instances } = this.#cluster;
    const { live, restartRequired, failure } = this.#rolloutOf(machine, instance);
    const generation = String(machine.metadata.generation ?? 1);
    const { annotations } = instance.metadata;
    const isOf = annotations?.[GENERATION_ANNOTATION] === generation || !isTheSame(instance, machine.spec.template);
    if (live === undefined && isOf) return { current: instance, restartRequired, failure };
    const metadata = isOf
      ? instance.metadata
      : { ...instance.metadata, annotations: { ...annotations, [GENERATION_ANNOTATION]: generation } };
    const next = { ...instance, metadata, spec: live ?? instance.spec };
    return {
      current: instances.remember(await client.update<VirtualMachineInstance>(instances.resource, next)),
      restartRequired,
      failure,
    };
  }

  async #requestStart(machine: Machine): Promise<Machine> {
    const requests = [...(machine.status?.stateChangeRequests ?? []), { action: 'Start' as const }];
    return this.#putStatus(machine, { ...machine.status, stateChangeRequests: requests });
  }

  async #becomeAlways(machine: Machine): Promise<void> {
    const { client, machines } = this.#cluster;
    const { namespace, name, resourceVersion } = machine.metadata;
    const spec = machine.spec.runStrategy === undefined ? { running: true } : { runStrategy: 'Always' };
    const patch = { metadata: { resourceVersion }, spec };
    machines.remember(await client.patch<VirtualMachine>(machines.resource, { namespace, name }, 'merge', patch));
  }

  async #writeStatus(machine: Machine, instance: Instance | undefined, found: Findings): Promise<void> {
    if (instance !== undefined && isAboutToStop(instance)) return;
    const { dataVolumes, claims, kubevirt } = this.#cluster;
    const { namespace } = machine.metadata;
    const spec = machine.spec.template.spec;
    const volumes = dataVolumesOf(spec)
      .map((name) => dataVolumes.get(`${namespace}/${name}`))
      .filter((found) => found !== undefined);
    const status = machineStatus({
      machine,
      instance,
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
    if (status !== machine.status) await this.#putStatus(machine, status);
  }

  async #putStatus(machine: Machine, status: VirtualMachineStatus): Promise<Machine> {
    const { client, machines } = this.#cluster;
    const written = await client.update<VirtualMachine>(
      machines.resource,
      { ...machine, status },
      { subresource: 'status' },
    );
    return machines.remember(written);
  }
}

/** The VMI's next write follows at once and changes the VM's status again: one status write for both is enough. */
const isAboutToStop = (instance: Instance): boolean => isDeleting(instance) && !isFinal(instance) && isReady(instance);
