import { CAPS } from '../../../api/lib/caps.ts';
import { identityKey, type Identity } from '../../../api/owner-references.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';

/**
 * VMIs that ran and then failed, as last seen. KubeVirt deletes such a VMI at once and starts the next, so a later look
 * at the cluster no longer finds it.
 */
export class FailedVmis {
  readonly #byVm = new Map<string, VmiView[]>();
  readonly #recentErrors = new Map<string, string>();

  /**
   * Notes the VMI if it has failed. Returns true if it had run and was not known yet. KubeVirt reports when a VMI
   * failed unless its launcher pod was gone: such a VMI counts as having run until `now`, when this worker learned of
   * the failure.
   */
  add(vmi: VmiView, now: number): boolean {
    if (vmi.vmUid === null || vmi.phase !== 'Failed') return false;
    const vm = identityKey({ namespace: vmi.namespace, uid: vmi.vmUid });
    if (vmi.whyNotReady !== null) this.#recentErrors.set(vm, vmi.whyNotReady);
    if (vmi.runningSince === null) return false;
    const known = this.#byVm.get(vm) ?? [];
    if (known.some(({ uid }) => uid === vmi.uid)) return false;
    this.#byVm.set(vm, [...known, { ...vmi, endedAt: vmi.endedAt ?? now }].slice(-CAPS.failedVmis));
    return true;
  }

  /** The VM's failed VMIs that had run, oldest first, as far as this worker has seen them. */
  of(vm: Identity): readonly VmiView[] {
    return this.#byVm.get(identityKey(vm)) ?? [];
  }

  /** What was wrong with the VM's last failed VMI, in KubeVirt's words, whether it had run or not; null if unknown. */
  reasonOf(vm: Identity): string | null {
    return this.#recentErrors.get(identityKey(vm)) ?? null;
  }

  /** For a deleted VM. */
  forget(vm: Identity): void {
    this.#recentErrors.delete(identityKey(vm));
    this.#byVm.delete(identityKey(vm));
  }
}
