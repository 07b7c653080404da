interface ManagedLookOptions {
  /** Names of all owners, `namespace/name`. */
  names: () => string[];
  /** Names of those whose workflows run. */
  managed: () => Promise<ReadonlySet<string>>;
  onUnmanaged: (names: string[]) => void;
  /** Called with the first error of several in a row. */
  onFailure: (error: Error) => void;
}

/** Finds owners that no workflow manages, one look at a time. */
export class UnmanagedOwners {
  readonly #options: ManagedLookOptions;
  #isLooking = false;
  #hasFailed = false;

  constructor(options: ManagedLookOptions) {
    this.#options = options;
  }

  async look(): Promise<void> {
    const { names, managed, onUnmanaged, onFailure } = this.#options;
    // Before Temporal is asked: an owner that comes meanwhile has been signalled.
    const all = names();
    if (this.#isLooking || all.length === 0) return;
    this.#isLooking = true;
    try {
      const running = await managed();
      this.#hasFailed = false;
      onUnmanaged(all.filter((name) => !running.has(name)));
    } catch (error) {
      if (!this.#hasFailed) onFailure(error as Error);
      this.#hasFailed = true;
    } finally {
      this.#isLooking = false;
    }
  }
}
