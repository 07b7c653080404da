import type { Stored } from '../api/objects.ts';
import { parseDuration } from './knobs.ts';
import type { KubeVirt, VirtualMachine } from './types.ts';

/**
 * On the KubeVirt object: how far behind it sees the specs of VMs, as its caches may be after an API server was away.
 */
export const LAG_ANNOTATION = 'sim.drover.dev/spec-lag';

type Machine = Stored<VirtualMachine>;

/** VMs as they were a while ago, where the cluster is told so. */
export class Lag {
  readonly #before = new Map<string, { machine: Machine; until: number }>();

  /** A VM has changed. */
  note(
    key: string,
    before: Machine | undefined,
    after: Machine | undefined,
    kubevirt: KubeVirt | undefined,
    now: number,
  ): void {
    const lag = parseDuration(kubevirt?.metadata.annotations?.[LAG_ANNOTATION] ?? '') ?? 0;
    if (after === undefined) this.#before.delete(key);
    if (
      lag === 0 ||
      before === undefined ||
      after === undefined ||
      before.metadata.generation === after.metadata.generation
    )
      return;
    const known = this.#before.get(key);
    if (known === undefined || known.until <= now) this.#before.set(key, { machine: before, until: now + lag });
  }

  /**
   * The VM as it is seen, which is `current` where nothing is to come, and else the milliseconds until it is seen anew.
   */
  see(key: string, current: Machine | undefined, now: number): { machine: Machine | undefined; again?: number } {
    const known = this.#before.get(key);
    if (known !== undefined && known.until > now) return { machine: known.machine, again: known.until - now };
    this.#before.delete(key);
    return { machine: current };
  }
}
