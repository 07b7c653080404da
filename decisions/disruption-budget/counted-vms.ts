import { isActive, isDown } from '../health/availability.ts';
import { isStandby, type VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';

interface Snapshot {
  vmOf: (key: string) => VmView | undefined;
  vmiOf: (vm: VmView) => VmiView | undefined;
}

/** A set, or the keys of a map: `namespace/name`. */
interface Keys {
  has: (key: string) => boolean;
  keys: () => Iterable<string>;
}

/**
 * The VMs that the limit of a run applies to. Keeps which of them are out: each VM that is acted on costs a look at the
 * VMs that have changed, not at a whole fleet.
 */
export class CountedVms {
  readonly #keys: Keys;
  readonly #snapshot: Snapshot;
  readonly #out = new Set<string>();
  readonly #changed = new Set<string>();

  /** `keys` may not change later. */
  constructor(keys: Keys, snapshot: Snapshot) {
    this.#keys = keys;
    this.#snapshot = snapshot;
    for (const key of keys.keys()) this.#look(key);
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  /** Notes that the VM, or its VMI, has changed in the snapshot. */
  changed(key: string): void {
    if (this.has(key)) this.#changed.add(key);
  }

  /** VMs that should run and are not ready, whatever the cause. A standby VM may be kept paused. */
  get out(): ReadonlySet<string> {
    for (const key of this.#changed) this.#look(key);
    this.#changed.clear();
    return this.#out;
  }

  #look(key: string): void {
    const { vmOf, vmiOf } = this.#snapshot;
    const vm = vmOf(key);
    if (vm !== undefined && !isStandby(vm) && isActive(vm) && isDown(vm, vmiOf(vm))) this.#out.add(key);
    else this.#out.delete(key);
  }
}
