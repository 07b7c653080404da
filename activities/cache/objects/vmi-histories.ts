import { identityKey, type Identity } from '../../../api/owner-references.ts';
import { runOf, type VmiHistory } from '../../../decisions/healing/never-ran.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';

/**
 * The history of the VMIs of VMs that were created while this worker watched. A gap in the VMI watch, during which a
 * VMI may have run, discards all history. VMs that existed before the watch have none.
 */
export class VmiHistories {
  readonly #byVm = new Map<string, VmiHistory>();
  /** Resource version since which VMIs are watched without a gap; null before they are watched. */
  #since: bigint | null = null;

  gap(version: bigint): void {
    this.#since = version;
    this.#byVm.clear();
  }

  /** Notes that a VM was created, at this version. */
  made(vm: Identity, version: bigint): void {
    if (this.#since !== null && version > this.#since)
      this.#byVm.set(identityKey(vm), { longestRunMs: 0, lastEnded: null });
  }

  /** Notes that a VMI has ended or was deleted, for whatever reason. */
  ended(vmi: VmiView, now: number): void {
    if (vmi.vmUid === null) return;
    const vm = identityKey({ namespace: vmi.namespace, uid: vmi.vmUid });
    const known = this.#byVm.get(vm);
    if (known === undefined) return;
    this.#byVm.set(vm, { longestRunMs: Math.max(known.longestRunMs, runOf(vmi, now)), lastEnded: vmi.uid });
  }

  /** Null if this worker has not watched the VM's VMIs since the VM was created. */
  of(vm: Identity): VmiHistory | null {
    return this.#byVm.get(identityKey(vm)) ?? null;
  }

  forget(vm: Identity): void {
    this.#byVm.delete(identityKey(vm));
  }
}
