import { isDeepStrictEqual } from 'node:util';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { namespacedName } from '../../kubernetes/versioned-store.ts';
import type { Vm, Vmi } from '../objects/kubevirt.ts';
import { vmOwner } from '../objects/vm-owner.ts';
import { isDeleting, VM_CONTROLLER_FINALIZER } from '../objects/vmi.ts';
import { adopt, mayAdopt } from '../store/adopt.ts';
import type { Cluster } from '../store/cluster.ts';
import { Controller } from '../store/controller.ts';
import { hasFinalizer, removeFinalizer } from '../store/finalizers.ts';
import { ObservationDelay } from '../store/observation-delay.ts';
import { claimDataVolumes } from '../vm/data-volume-templates.ts';
import { nextStep, runStrategyOf } from '../vm/run-strategy.ts';
import { StartRevisions } from '../vm/start-revisions.ts';
import { VmWrites } from './vm-writes.ts';

/** A DataVolume of another controller doesn't enqueue the VM that waits for it, so the VM polls. */
const VOLUMES_AGAIN_MS = 5000;
const START_AGAIN_MS = 1000;
const PLUG_AGAIN_MS = 1000;

/** Keeps each VM's VMI as its run strategy asks, and the VM's status in line with its VMI. */
export class VmController extends Controller {
  readonly #lag = new ObservationDelay();
  readonly #startRevisions: StartRevisions;
  readonly #writes: VmWrites;

  constructor(cluster: Cluster, concurrency: number) {
    super(cluster, 'VirtualMachine', concurrency);
    this.#startRevisions = new StartRevisions(cluster.client);
    this.#writes = new VmWrites(cluster, this.#startRevisions);
    const add = (key: string): void => this.queue.add(key);
    cluster.vms.subscribe((key, before, after) => {
      if (before !== undefined && before.metadata.uid !== after?.metadata.uid) this.#startRevisions.forget(before);
      this.#lag.observe(key, before, after, cluster.kubevirt, Date.now());
      add(key);
    });
    cluster.vmis.subscribe(add);
    const addUsers = (_key: string, before: Stored | undefined, after: Stored | undefined): void =>
      this.#addUsersOf((after ?? before)!);
    cluster.dataVolumes.subscribe(addUsers);
    cluster.claims.subscribe(addUsers);
    cluster.kubevirts.subscribe((_key, before, after) => {
      if (!isDeepStrictEqual(before?.spec, after?.spec)) for (const vm of cluster.vms.values()) add(namespacedName(vm));
    });
  }

  /**
   * Enqueues the VM that owns a DataVolume or claim. VMs that only refer to it by name see the change in their next
   * reconcile.
   */
  #addUsersOf(object: Stored): void {
    const owner = controllerOf(object);
    if (owner === undefined) return;
    if (owner.kind === 'VirtualMachine') this.queue.add(`${object.metadata.namespace}/${owner.name}`);
    if (owner.kind !== 'DataVolume') return;
    const dataVolume = this.cluster.dataVolumes.get(`${object.metadata.namespace}/${owner.name}`);
    if (dataVolume !== undefined) this.#addUsersOf(dataVolume);
  }

  protected async reconcile(key: string): Promise<number | undefined> {
    const { vm, again = Infinity } = this.#lag.see(key, this.cluster.vms.get(key), Date.now());
    if (vm === undefined) return undefined;
    const due = Math.min(again, (await this.#reconcile(vm)) ?? Infinity);
    return due === Infinity ? undefined : due;
  }

  async #reconcile(found: Vm): Promise<number | undefined> {
    const vmi = await this.#ownVmi(found);
    if (vmi !== undefined) this.#startRevisions.remember(found, vmi);
    if (isDeleting(found)) {
      await this.#tearDown(found, vmi);
      return undefined;
    }
    return this.#keep(await this.#writes.admitted(found, vmi), vmi);
  }

  /** Returns the VM's VMI. Adopts a VMI of its name that has no controller, and ignores a VMI of another controller. */
  async #ownVmi(vm: Vm): Promise<Vmi | undefined> {
    const { vmis } = this.cluster;
    const vmi = vmis.get(namespacedName(vm));
    if (vmi === undefined) return undefined;
    const controller = controllerOf(vmi);
    if (controller !== undefined) return controller.uid === vm.metadata.uid ? vmi : undefined;
    if (isDeleting(vm) || isDeleting(vmi) || !(await mayAdopt(this.cluster, vm))) return undefined;
    return adopt(this.cluster, vmis, vmi, vmOwner(vm.metadata));
  }

  async #tearDown(vm: Vm, vmi: Vmi | undefined): Promise<void> {
    const orphaning = hasFinalizer(vm, 'orphan');
    if (!orphaning && vmi !== undefined) {
      if (!isDeleting(vmi)) await this.#writes.delete(vmi);
      await this.#writes.writeStatus(vm, vmi, {});
      await this.#writes.release(vmi);
      return;
    }
    if (hasFinalizer(vm, VM_CONTROLLER_FINALIZER)) {
      await removeFinalizer(this.cluster, this.cluster.vms, vm, VM_CONTROLLER_FINALIZER);
    }
  }

  async #keep(vm: Vm, vmi: Vmi | undefined): Promise<number | undefined> {
    const { ready: volumesReady, failure: volumeFailure } = await claimDataVolumes(this.cluster, vm);
    if (volumeFailure !== undefined || (!volumesReady && runStrategyOf(vm) !== 'Halted')) {
      await this.#writes.writeStatus(vm, vmi, { failure: volumeFailure });
      return VOLUMES_AGAIN_MS;
    }
    const step = nextStep(vm, vmi, Date.now());
    switch (step.do) {
      case 'request-start':
        await this.#writes.writeStatus(await this.#writes.requestStart(vm), vmi, {});
        return 0;
      case 'become-always':
        await this.#writes.becomeAlways(vm);
        return undefined;
      case 'start': {
        const failure = await this.#writes.start(vm);
        // As in KubeVirt, this pass ignores the VMI that it has just created; the next pass sees it.
        await this.#writes.writeStatus(vm, undefined, {
          failure,
          restartRequired: 'none',
          starting: failure === undefined,
        });
        return failure === undefined ? undefined : START_AGAIN_MS;
      }
      case 'stop':
        // The VMI's result is recorded before the VMI is deleted.
        await this.#writes.writeStatus(vm, vmi, {
          restartRequired: this.#writes.rolloutOf(vm, vmi!).restartRequired,
        });
        await this.#writes.delete(vmi!);
        return undefined;
      case 'wait':
      case 'nothing': {
        if (vmi === undefined) {
          await this.#writes.writeStatus(vm, undefined, {});
          return step.do === 'wait' ? step.until - Date.now() : undefined;
        }
        const { current, restartRequired, failure } = await this.#writes.rollOut(vm, vmi);
        await this.#writes.writeStatus(vm, current, { restartRequired, failure });
        await this.#writes.release(current);
        return failure === undefined ? undefined : PLUG_AGAIN_MS;
      }
    }
  }
}
