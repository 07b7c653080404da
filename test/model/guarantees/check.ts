import type { PoolRecord } from '../pool-record.ts';
import type { Watched } from '../readings.ts';
import type { World } from '../world/world.ts';

/** What checks of guarantees have in common. */
export abstract class Check<W extends Watched = World> {
  protected readonly world: W;
  readonly #off: ReadonlySet<string>;

  /** `off`: numbers of guarantees that are not checked. */
  constructor(world: W, off: readonly string[]) {
    this.world = world;
    this.#off = new Set(off);
  }

  protected get now(): number {
    return this.world.time.now;
  }

  protected broken(number: string, words: string): void {
    if (!this.#off.has(number)) this.world.break(`${number}: ${words}`);
  }
}

/** A check that asks what has happened to pools before. */
export abstract class PoolCheck<W extends Watched = Watched> extends Check<W> {
  protected readonly record: PoolRecord;

  constructor(world: W, off: readonly string[], record: PoolRecord) {
    super(world, off);
    this.record = record;
  }
}
