import type { VmiView } from '../../decisions/views/vmi.ts';

/** Of one VM, so many of the newest are kept. */
const KEPT = 20;

/**
 * Guests that ran and then failed, as they were last seen. KubeVirt deletes such a VMI at once and starts the next, so
 * that a later look at the cluster finds nothing of it.
 */
export class FailedVmis {
  readonly #byVm = new Map<string, VmiView[]>();
  readonly #troubles = new Map<string, string>();

  /**
   * True for a guest that ran, and was not known yet. KubeVirt tells when a guest failed unless the pod of its launcher
   * was gone: such a guest counts as having run until `now`, when it was heard of.
   */
  note(vmi: VmiView, now: number): boolean {
    if (vmi.vmUid === null || vmi.phase !== 'Failed') return false;
    if (vmi.trouble !== null) this.#troubles.set(vmi.vmUid, vmi.trouble);
    if (vmi.runningSince === null) return false;
    const known = this.#byVm.get(vmi.vmUid) ?? [];
    if (known.some(({ uid }) => uid === vmi.uid)) return false;
    this.#byVm.set(vmi.vmUid, [...known, { ...vmi, endedAt: vmi.endedAt ?? now }].slice(-KEPT));
    return true;
  }

  /** Oldest first. */
  of(vmUid: string): readonly VmiView[] {
    return this.#byVm.get(vmUid) ?? [];
  }

  /**
   * In KubeVirt's words, what was the matter with the last guest that failed, whether it ran or not; null where nobody
   * knows.
   */
  troubleOf(vmUid: string): string | null {
    return this.#troubles.get(vmUid) ?? null;
  }

  /** Its VM is gone. */
  forget(vmUid: string): void {
    this.#troubles.delete(vmUid);
    this.#byVm.delete(vmUid);
  }
}
