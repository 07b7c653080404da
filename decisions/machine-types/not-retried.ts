import type { StoredPool } from '../views/pool.ts';

/** A VM or pool that is not to be retried. */
export interface NotRetried {
  /** `namespace/name`; for a pool, the result of `formatPool`. */
  vm: string;
  /** UID of the VM, if known: a VM recreated under the same name is another. */
  uid?: string;
  /** The VM failed in its restart, and was ready before. */
  wasAvailable: boolean;
  /** The VM's mark can't be removed. */
  keepsLabel?: true;
}

/** `pool namespace/name`: tells a pool from a VM of the same name. */
export const formatPool = ({ metadata: { namespace, name } }: Pick<StoredPool, 'metadata'>): string =>
  `pool ${namespace}/${name}`;

export interface Touched {
  /** By `namespace/name`. */
  inProgress: ReadonlySet<string>;
  failed: readonly NotRetried[];
}
