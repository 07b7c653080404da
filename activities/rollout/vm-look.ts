import { cancellationSignal } from '@temporalio/activity';
import type { Stored } from '../../api/objects.ts';
import type { BatchVm } from '../../decisions/owners/batch.ts';
import type { VirtualMachine } from '../../decisions/views/from-object/vm.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { ClusterAccess } from '../cache/access.ts';
import type { CorrectedVm } from '../drift/correct-vm.ts';
import { livePool } from '../owners/live-owner.ts';
import { liveVm, liveVmWithVmi } from '../owners/live-vm.ts';
import type { PoolKey } from '../owners/owner-key.ts';
import type { VmTargets } from './vm-targets.ts';

/** A pool and one of its VMs. */
export interface Glance {
  pool: StoredPool;
  view: VmView;
  /** The VMI of the VM. A VMI that runs what its VM has drifted to is of no revision, whatever its label says. */
  vmi: VmiView | undefined;
}

/** What was read of a VM. */
export interface Look extends Glance {
  vm: Stored<VirtualMachine>;
  /** Its VMI, as it is labelled. */
  own: VmiView | undefined;
  /** The VM without its drift, if that will be corrected. */
  right: CorrectedVm | undefined;
}

interface VmLookOptions extends ClusterAccess {
  key: PoolKey;
  targets: VmTargets;
}

/** Looks at the VMs of a pool: each look is undefined if the pool or the VM is gone. */
export class VmLook {
  readonly #in: VmLookOptions;

  constructor(options: VmLookOptions) {
    this.#in = options;
  }

  /** As this worker's caches have them. */
  cached({ name }: BatchVm): Glance | undefined {
    const { cache, key } = this.#in;
    const pool = cache.pools.get(`${key.namespace}/${key.name}`);
    const view = cache.vms.get(`${key.namespace}/${name}`);
    if (pool?.metadata.uid !== key.uid || view === undefined) return undefined;
    return { pool, view, vmi: cache.vmiOf(view) };
  }

  /** As the API server has them now. */
  async live(held: BatchVm): Promise<Look | undefined> {
    const { client, cache, key } = this.#in;
    const signal = cancellationSignal();
    const at = { namespace: key.namespace, name: held.name };
    const [pool, { vm, vmi }] = await Promise.all([livePool(client, key, signal), liveVmWithVmi(client, at, signal)]);
    return this.#look(held, pool, vm, vmi && cache.withSurroundings(vmi));
  }

  /** The VM as the API server has it now, in a pool that was just read; its VMI as this worker's cache has it. */
  async ofPool(held: BatchVm, pool: StoredPool): Promise<Look | undefined> {
    const { client, cache, key } = this.#in;
    const vm = await liveVm(client, { namespace: key.namespace, name: held.name }, cancellationSignal());
    const view = vm && cache.vmView(vm);
    const vmi = view && cache.vmiOf(view);
    // The cache is behind.
    if (view !== undefined && view.hasVmi !== (vmi !== undefined)) return this.live(held);
    return this.#look(held, pool, vm, vmi);
  }

  async #look(
    held: BatchVm,
    pool: StoredPool | undefined,
    vm: Stored<VirtualMachine> | undefined,
    own: VmiView | undefined,
  ): Promise<Look | undefined> {
    if (pool === undefined || vm === undefined) return undefined;
    const right = held.setsRight === true ? await this.#in.targets.correctVm(pool, vm, own) : undefined;
    const vmi = own !== undefined && right?.isVmiOld === true ? { ...own, revision: null } : own;
    return { pool, vm, view: this.#in.cache.vmView(vm), own, vmi, right };
  }
}
