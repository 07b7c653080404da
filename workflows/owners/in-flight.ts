/** What a workflow has begun and not yet seen end: the operations that run in parallel, and the VMs that each holds. */
export class InFlight {
  readonly #operations = new Map<number, { kind: OperationKind; names: readonly string[]; reason: string }>();
  readonly #held = new Set<OperationKind>();
  /** As plain data: each run hands it to the next. */
  readonly failures: FailuresInARow;
  #next = 0;

  constructor(failures: FailuresInARow = {}) {
    this.failures = { ...failures };
  }

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
  hold(kind: OperationKind): void {
    this.#held.add(kind);
  }

  /** Reports whether something of this kind came since the last call. */
  wasHeld(kind: OperationKind): boolean {
    return this.#held.delete(kind);
  }

  /** Counts how often in a row housekeeping of this kind has failed, and returns that. */
  failed(kind: HousekeepingKind): number {
    return (this.failures[kind] = (this.failures[kind] ?? 0) + 1);
  }

  succeeded(kind: HousekeepingKind): void {
    delete this.failures[kind];
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

/** Housekeeping: each kind in a lane of its own, so that none waits for another that is refused again and again. */
const HOUSEKEEPING = [
  'addLabels',
  'removeLabels',
  'setRoles',
  'removeDiskFinalizers',
  'endMembershipChange',
  'annotateRuns',
  'clearNamedRemovals',
  'unmarkKeptDisks',
  'createRevision',
  'deleteRevisions',
  'updatePodDisruptionBudget',
  'keepReplicas',
] as const;
export type HousekeepingKind = (typeof HOUSEKEEPING)[number];
export type FailuresInARow = Partial<Record<HousekeepingKind, number>>;

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

const UNREPORTED: ReadonlySet<OperationKind> = new Set(['status', 'cancelled', 'notifying', ...HOUSEKEEPING]);
