import { runOf, type Witness } from '../../decisions/healing/proof.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';

/**
 * What has become of the guests of VMs that were made while this worker watched. A gap in the watch of guests, during
 * which one may have run, ends that for all of them: of VMs that were there before, it knows nothing.
 */
export class Witnesses {
  readonly #byVm = new Map<string, Witness>();
  /** From which resource version on guests are watched without a gap; null before they are. */
  #since: bigint | null = null;

  gap(version: bigint): void {
    this.#since = version;
    this.#byVm.clear();
  }

  /** A VM was made, in this version. */
  made(vmUid: string, version: bigint): void {
    if (this.#since !== null && version > this.#since) this.#byVm.set(vmUid, { longestRunMs: 0, lastEnded: null });
  }

  /** A guest has ended; or it is gone, however that came. */
  ended(guest: VmiView, now: number): void {
    const known = guest.vmUid === null ? undefined : this.#byVm.get(guest.vmUid);
    if (known !== undefined)
      this.#byVm.set(guest.vmUid!, {
        longestRunMs: Math.max(known.longestRunMs, runOf(guest, now)),
        lastEnded: guest.uid,
      });
  }

  of(vmUid: string): Witness | null {
    return this.#byVm.get(vmUid) ?? null;
  }

  forget(vmUid: string): void {
    this.#byVm.delete(vmUid);
  }
}
