import { expect, onTestFinished } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { VirtualMachineInstances } from '../../../api/resources.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { until, type TestFleet } from '../fleet.ts';

const HOLD = 'test/hold';

const isHeld = ({ metadata: { finalizers = [] } }: Stored): boolean => finalizers.includes(HOLD);

/**
 * VMIs that go only when the test lets them: a VM that is restarted stays in progress until then, on whatever machine
 * and with KubeVirt too, since they have a finalizer of the test. Their guests end, so a stop does not wait for them.
 * VMIs that come later are not held.
 */
export class HeldVmis {
  readonly #kube: TestFleet['kube'];
  readonly #namespace: string;

  private constructor({ kube }: TestFleet, namespace: string) {
    this.#kube = kube;
    this.#namespace = namespace;
  }

  /** Holds all VMIs that are in the namespace now, to the end of the test at most. */
  static async of(fleet: TestFleet, namespace: string): Promise<HeldVmis> {
    const held = new HeldVmis(fleet, namespace);
    onTestFinished(() => held.letGo());
    const add = [{ op: 'add', path: '/metadata/finalizers/-', value: HOLD }];
    for (const { metadata } of await held.#list())
      await fleet.kube.patch(VirtualMachineInstances, { namespace, name: metadata.name }, 'json', add);
    return held;
  }

  /** Waits until one of these VMIs is to end, and no other, and returns the name of its VM. */
  async next(): Promise<string> {
    return (await this.ending(1))[0]!;
  }

  /** Waits until so many of these VMIs are to end, and returns the names of their VMs. */
  async ending(count: number): Promise<string[]> {
    let names: string[] = [];
    await until(async () => {
      const ending = (await this.#list()).filter((vmi) => vmi.metadata.deletionTimestamp !== undefined && isHeld(vmi));
      names = ending.map(({ metadata }) => metadata.name);
      expect(names).toHaveLength(count);
    });
    return names;
  }

  /** Lets the VMI of this VM end, or without a name all of them. */
  async letGo(name?: string): Promise<void> {
    for (const { metadata } of (await this.#list()).filter(isHeld))
      if (name === undefined || metadata.name === name) await this.#release(metadata.name);
  }

  async #list(): Promise<Stored[]> {
    return (await this.#kube.list(VirtualMachineInstances, { namespace: this.#namespace })).items;
  }

  #release(name: string): Promise<void> {
    const key = { namespace: this.#namespace, name };
    return until(async () => {
      const vmi = await ignoreNotFound(this.#kube.get(VirtualMachineInstances, key));
      if (vmi === undefined || !isHeld(vmi)) return;
      const { resourceVersion, finalizers = [] } = vmi.metadata;
      const metadata = { resourceVersion, finalizers: finalizers.filter((one) => one !== HOLD) };
      await ignoreNotFound(this.#kube.patch(VirtualMachineInstances, key, 'merge', { metadata }));
    });
  }
}
