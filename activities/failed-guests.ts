import type { VmiView } from '../decisions/vmi.ts';

/** Of one VM, so many of the newest are kept. */
const KEPT = 20;

/**
 * Guests that ran and then failed, as they were last seen. KubeVirt deletes such a VMI at once and starts the next, so that a
 * later look at the cluster finds nothing of it.
 */
export class FailedGuests {
  readonly #byVm = new Map<string, VmiView[]>();

  /** True for one that was not known yet. */
  note(vmi: VmiView): boolean {
    if (vmi.vmUid === null || vmi.phase !== 'Failed' || vmi.runningSince === null) return false;
    const known = this.#byVm.get(vmi.vmUid) ?? [];
    if (known.some(({ uid }) => uid === vmi.uid)) return false;
    this.#byVm.set(vmi.vmUid, [...known, vmi].slice(-KEPT));
    return true;
  }

  /** Oldest first. */
  of(vmUid: string): readonly VmiView[] {
    return this.#byVm.get(vmUid) ?? [];
  }

  /** Its VM is gone. */
  forget(vmUid: string): void {
    this.#byVm.delete(vmUid);
  }
}
