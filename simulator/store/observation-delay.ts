import { parseDuration } from '../objects/annotations.ts';
import type { KubeVirt, Vm } from '../objects/kubevirt.ts';

/**
 * On the KubeVirt object: how late the controller sees changes of VM specs, like a cache after an API server outage.
 */
const LAG_ANNOTATION = 'sim.drover.dev/spec-observation-delay';

/** Shows VMs as they were a while ago, if the KubeVirt object asks for a lag. */
export class ObservationDelay {
  readonly #before = new Map<string, { vm: Vm; until: number }>();

  /** Notes that a VM has changed. */
  observe(
    key: string,
    before: Vm | undefined,
    after: Vm | undefined,
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
    if (known === undefined || known.until <= now) this.#before.set(key, { vm: before, until: now + lag });
  }

  /**
   * Returns the VM as the controller sees it: `current` or, while a change is held back, the older VM and the
   * milliseconds until the change shows.
   */
  see(key: string, current: Vm | undefined, now: number): { vm: Vm | undefined; again?: number } {
    const known = this.#before.get(key);
    if (known !== undefined && known.until > now) return { vm: known.vm, again: known.until - now };
    this.#before.delete(key);
    return { vm: current };
  }
}
