/** A VM that is not to be retried. */
export interface NotRetried {
  /** `namespace/name`. */
  vm: string;
  /** UID of the VM, if known: a VM recreated under the same name is another. */
  uid?: string;
  /** The VM failed in its restart, and was ready before. */
  wasAvailable: boolean;
  /** The VM's mark can't be removed. */
  keepsLabel?: true;
}

export interface Touched {
  /** By `namespace/name`. */
  inProgress: ReadonlySet<string>;
  failed: readonly NotRetried[];
}
