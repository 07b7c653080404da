import { runOf, type VmiHistory } from '../../decisions/healing/never-ran.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';

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
  made(vmUid: string, version: bigint): void {
    if (this.#since !== null && version > this.#since) this.#byVm.set(vmUid, { longestRunMs: 0, lastEnded: null });
  }

  /** Notes that a VMI has ended or was deleted, for whatever reason. */
  ended(vmi: VmiView, now: number): void {
    const known = vmi.vmUid === null ? undefined : this.#byVm.get(vmi.vmUid);
    if (known !== undefined)
      this.#byVm.set(vmi.vmUid!, {
        longestRunMs: Math.max(known.longestRunMs, runOf(vmi, now)),
        lastEnded: vmi.uid,
      });
  }

  /** Null if this worker has not watched the VM's VMIs since the VM was created. */
  of(vmUid: string): VmiHistory | null {
    return this.#byVm.get(vmUid) ?? null;
  }

  forget(vmUid: string): void {
    this.#byVm.delete(vmUid);
  }
}
