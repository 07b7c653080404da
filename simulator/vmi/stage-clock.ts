/**
 * Knows since when an object has been in its current stage. Timestamps in the cluster have whole seconds only, so the
 * time at which this process saw the stage begin is preferred. If the stage began earlier, the object's timestamp
 * counts.
 */
export class StageClock {
  readonly #seen = new Map<string, { stage: string; since: number }>();

  /** `recorded`: the start of the stage according to the object. All times are in milliseconds since the epoch. */
  since(uid: string, stage: string, recorded: number, now: number): number {
    const known = this.#seen.get(uid);
    if (known?.stage === stage) return known.since;
    const since = Math.min(Math.max(now, recorded), recorded + 999);
    this.#seen.set(uid, { stage, since });
    return since;
  }

  forget(uid: string): void {
    this.#seen.delete(uid);
  }
}
