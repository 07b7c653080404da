import type { VmInProgress } from '../power/outcome.ts';
import type { StoredPool } from '../views/pool.ts';

/** A VM in flight, with the UID of the VMI that is restarted: once the VM has another VMI, the restart is done. */
export interface VmiInProgress extends VmInProgress {
  vmi: string;
}

/** A VM or pool that is not to be retried. */
export interface FailedVm {
  /** `namespace/name`; for a pool, the result of `formatPool`. */
  vm: string;
  /** UID of the VM, if known: a VM recreated under the same name is another. */
  uid?: string;
  /** The VM failed in its restart, and was ready before. */
  wasAvailable: boolean;
  /** The VM's mark can't be removed. */
  keepsMark?: true;
}

/** `pool namespace/name`: tells a pool from a VM of the same name. */
export const formatPool = ({ metadata: { namespace, name } }: Pick<StoredPool, 'metadata'>): string =>
  `pool ${namespace}/${name}`;

export interface Touched {
  inProgress: readonly VmiInProgress[];
  failed: readonly FailedVm[];
}

export const isSameFailure = (one: FailedVm | undefined, other: FailedVm | undefined): boolean =>
  (one === undefined) === (other === undefined) &&
  one?.uid === other?.uid &&
  one?.wasAvailable === other?.wasAvailable &&
  one?.keepsMark === other?.keepsMark;
