/** What a workflow has begun and not yet seen end: the lanes that run in parallel, and the VMs that each holds. */
export class InFlight {
  readonly #lanes = new Map<number, { kind: LaneKind; names: readonly string[]; reason: string }>();
  readonly #held = new Set<LaneKind>();
  #next = 0;

  /** Holds `names` until `run` settles, whether it succeeds or fails. */
  async run(
    lane: { kind: LaneKind; names?: readonly string[]; reason: string },
    run: () => Promise<void>,
  ): Promise<void> {
    const id = this.#next++;
    this.#lanes.set(id, { names: [], ...lane });
    try {
      await run();
    } finally {
      this.#lanes.delete(id);
    }
  }

  /** Notes that something of this kind came while another was running. */
  hold(kind: LaneKind): void {
    this.#held.add(kind);
  }

  /** Reports whether something of this kind came since the last call. */
  wasHeld(kind: LaneKind): boolean {
    return this.#held.delete(kind);
  }

  get isEmpty(): boolean {
    return this.#lanes.size === 0;
  }

  has(kind: LaneKind): boolean {
    return [...this.#lanes.values()].some((lane) => lane.kind === kind);
  }

  names(kind: LaneKind): string[] {
    return [...this.#lanes.values()].filter((lane) => lane.kind === kind).flatMap((lane) => lane.names);
  }

  /** Returns what concerns VMs, one sentence each; lanes of one step share theirs. */
  reasons(): string[] {
    return [...new Set([...this.#lanes.values()].filter((lane) => !UNTOLD.has(lane.kind)).map((lane) => lane.reason))];
  }
}

export type LaneKind =
  | 'creating'
  | 'standby'
  | 'deleting'
  | 'finalizer'
  | 'status'
  | 'batch'
  | 'evacuating'
  | 'guards'
  | 'disks'
  | 'revisions'
  | 'notes'
  | 'labels'
  | 'cancelled'
  | 'telling';

const UNTOLD: ReadonlySet<LaneKind> = new Set([
  'status',
  'revisions',
  'notes',
  'labels',
  'guards',
  'cancelled',
  'telling',
]);
