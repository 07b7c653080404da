/**
 * Since when an object has been in the stage that it is in. Times that the cluster keeps are in whole seconds: what
 * this process sees begin, it knows better; what began before it started, it reads off the object.
 */
export class StageClock {
  readonly #seen = new Map<string, { stage: string; since: number }>();

  /** `told`: when the object says that the stage began. All in milliseconds since 1970. */
  since(uid: string, stage: string, told: number, now: number): number {
    const known = this.#seen.get(uid);
    if (known?.stage === stage) return known.since;
    const since = Math.min(Math.max(now, told), told + 999);
    this.#seen.set(uid, { stage, since });
    return since;
  }

  forget(uid: string): void {
    this.#seen.delete(uid);
  }
}
