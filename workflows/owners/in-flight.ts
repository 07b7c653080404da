import { HOUSEKEEPING, type HousekeepingKind } from '../../decisions/owners/housekeeping.ts';

/** What a workflow has begun and not yet seen end: the operations that run in parallel, and the VMs that each holds. */
export class InFlight {
  readonly #operations = new Map<number, { kind: OperationKind; names: readonly string[]; reason: string }>();
  readonly #deferred = new Set<OperationKind>();
  #next = 0;

  /** Holds `names` until `run` settles, whether it succeeds or fails. */
  async run(
    operation: { kind: OperationKind; names?: readonly string[]; reason: string },
    run: () => Promise<void>,
  ): Promise<void> {
    const id = this.#next++;
    this.#operations.set(id, { names: [], ...operation });
    try {
      await run();
    } finally {
      this.#operations.delete(id);
    }
  }

  /** Notes that something of this kind came while another was running. */
  defer(kind: OperationKind): void {
    this.#deferred.add(kind);
  }

  /** Reports whether something of this kind came since the last call. */
  wasDeferred(kind: OperationKind): boolean {
    return this.#deferred.delete(kind);
  }

  get isEmpty(): boolean {
    return this.#operations.size === 0;
  }

  has(kind: OperationKind): boolean {
    return [...this.#operations.values()].some((operation) => operation.kind === kind);
  }

  names(kind: OperationKind): string[] {
    return [...this.#operations.values()]
      .filter((operation) => operation.kind === kind)
      .flatMap((operation) => operation.names);
  }

  /** Returns what concerns VMs, one sentence each; operations of one step share theirs. */
  reasons(): string[] {
    return [
      ...new Set(
        [...this.#operations.values()]
          .filter((operation) => !UNREPORTED.has(operation.kind))
          .map((operation) => operation.reason),
      ),
    ];
  }
}

export type OperationKind =
  | 'creating'
  | 'standby'
  | 'deleting'
  | 'finalizer'
  | 'status'
  | 'batch'
  | 'evacuating'
  | 'disks'
  | 'cancelled'
  | 'notifying'
  | HousekeepingKind;

const UNREPORTED: ReadonlySet<OperationKind> = new Set([
  'status',
  'cancelled',
  'notifying',
  ...(Object.keys(HOUSEKEEPING) as HousekeepingKind[]),
]);
