import { MEMBERS_MANAGER } from '../../api/labels-and-annotations.ts';
import { isControlledBy } from '../../api/owner-references.ts';
import { VirtualMachineInstances, VirtualMachinePools, VirtualMachines, type Resource } from '../../api/resources.ts';
import { withVmis, type VmWithVmi } from '../../decisions/from-object/vm-with-vmi.ts';
import type { VirtualMachine } from '../../decisions/from-object/vm.ts';
import type { VirtualMachineInstance } from '../../decisions/from-object/vmi.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { permittedRequestOf } from '../../decisions/membership/membership-request.ts';
import type { MovePatches } from '../../decisions/membership/moves.ts';
import type { Member } from '../../decisions/owners/steps.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isRefusal } from '../../kubernetes/errors.ts';
import { retryOnConflict, whileFresh, type LastCheck } from '../../kubernetes/retry.ts';
import { labelVmi } from '../lib/label-vmi.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { sharedCall } from '../lib/shared-call.ts';
import { slowStart } from '../lib/slow-start.ts';
import { livePool } from '../owners/live-owner.ts';
import { liveVm, ownVmi } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';

/** KubeVirt writes to a VM that starts or migrates several times a second. */
const TRIES = 20;

/** What carries out a request about the members of a pool. */
export class MembersRun {
  readonly client: KubeClient;
  readonly key: PoolKey;
  readonly #concurrency: number;
  /** What the API server, or the pool, has refused, by the names of the VMs. */
  readonly refused = new Map<string, string>();
  /** What a later plan must have seen. */
  minVersions: ResourceVersions = {};

  constructor(client: KubeClient, key: PoolKey, concurrency: number) {
    this.client = client;
    this.key = key;
    this.#concurrency = concurrency;
  }

  async pool(): Promise<StoredPool | undefined> {
    const pool = await livePool(this.client, this.key);
    this.saw({ pools: pool?.metadata.resourceVersion });
    return pool;
  }

  /** Returns the pool as long as it permits this request, which has no answer; else undefined. */
  async requestedPool(digest: string): Promise<StoredPool | undefined> {
    const pool = await this.pool();
    return pool !== undefined && permittedRequestOf(pool)?.digest === digest ? pool : undefined;
  }

  saw(versions: ResourceVersions): void {
    this.minVersions = maxVersions(this.minVersions, versions);
  }

  onEach<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
    return slowStart(items, act, { most: this.#concurrency });
  }

  /** Moves the VMs, each only while the pool permits this request, right before. */
  async moveEach(vms: readonly Member[], digest: string, patchesOf: (read: VmWithVmi) => MovePatches): Promise<void> {
    const poolNow = sharedCall(() => this.requestedPool(digest));
    const mayMove = async (): Promise<boolean> => (await poolNow()) !== undefined;
    await this.onEach(vms, async (vm) => {
      try {
        const move = () => whileFresh((lastCheck) => this.#move(vm, patchesOf, { mayMove, lastCheck }));
        await retryOnConflict(move, { tries: TRIES });
      } catch (error) {
        if (!isRefusal(error)) throw error;
        this.refused.set(vm.name, error.message);
      }
    });
  }

  /**
   * Patches the VM's VMI, and then the VM, in one write that is refused if the VM has changed meanwhile. If this is cut
   * short between the two writes, the VM has not moved, and the next try continues here.
   */
  async #move(
    { name, uid }: Member,
    patchesOf: (read: VmWithVmi) => MovePatches,
    { mayMove, lastCheck }: { mayMove: () => Promise<boolean>; lastCheck: LastCheck },
  ): Promise<void> {
    const { client } = this;
    const at = { namespace: this.key.namespace, name };
    const vm = await liveVm(client, at);
    if (vm?.metadata.uid !== uid || vm.metadata.deletionTimestamp !== undefined) return;
    const vmi = await ownVmi(client, vm);
    const patches = patchesOf({ vm, vmi });
    if (patches.vm === null) return;
    if (vmi !== undefined) await labelVmi(client, vmi.metadata, patches.vmi);
    if (await mayMove()) await patchKept(client, VirtualMachines, at, patches.vm, { lastCheck });
  }

  async write({ metadata }: StoredPool, annotations: Record<string, string | null>): Promise<void> {
    const patch = { metadata: { resourceVersion: metadata.resourceVersion, annotations } };
    const options = { fieldManager: MEMBERS_MANAGER };
    const written = await patchKept(this.client, VirtualMachinePools, this.key, patch, options);
    this.saw({ pools: written.metadata.resourceVersion });
  }

  /** Returns the VMs that a pool controls, drover's or KubeVirt's, each with its VMI. */
  async controlledBy(resource: Resource, uid: string): Promise<VmWithVmi[]> {
    const { namespace } = this.key;
    const options = { namespace };
    const { items } = await this.client.list<VirtualMachine>(VirtualMachines, options);
    const vms = items.filter((vm) => isControlledBy(vm, resource, { namespace, uid }));
    if (vms.length === 0) return [];
    return withVmis(vms, (await this.client.list<VirtualMachineInstance>(VirtualMachineInstances, options)).items);
  }
}
