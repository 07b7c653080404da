import type { Stored } from '../../api/objects.ts';
import { ControllerRevisions } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreAlreadyExists, ignoreNotFound } from '../../kubernetes/errors.ts';
import type { VirtualMachine, VirtualMachineInstance } from '../objects/kubevirt.ts';
import { vmOwner } from '../objects/vm-owner.ts';

/**
 * The copies of a VM's spec that KubeVirt makes as it starts the VM: one ControllerRevision per VM, owned by the VM, of
 * the generation that its VMI was started from.
 */
export class StartRevisions {
  readonly #client: KubeClient;
  /** Names of the copies, by the VM's UID. */
  readonly #kept = new Map<string, string>();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Notes a copy that an earlier run of this process may have made. */
  remember(vm: Stored<VirtualMachine>, vmi: VirtualMachineInstance): void {
    const name = vmi.status?.virtualMachineRevisionName;
    if (name !== undefined && !this.#kept.has(vm.metadata.uid)) this.#kept.set(vm.metadata.uid, name);
  }

  forget(vm: Stored<VirtualMachine>): void {
    this.#kept.delete(vm.metadata.uid);
  }

  /** Makes the copy for a VMI that starts now, deletes the previous one, and returns the copy's name. */
  async keep({ metadata: { name, namespace, uid, generation = 1 }, spec }: Stored<VirtualMachine>): Promise<string> {
    const copy = `revision-start-vm-${uid}-${generation}`;
    const before = this.#kept.get(uid);
    if (before === copy) return copy;
    if (before !== undefined)
      await ignoreNotFound(this.#client.delete(ControllerRevisions, { namespace, name: before }));
    const metadata = {
      name: copy,
      ...(namespace === undefined ? {} : { namespace }),
      ownerReferences: [vmOwner({ name, uid })],
    };
    const revision = { metadata, revision: generation, data: { spec } };
    await ignoreAlreadyExists(this.#client.create(ControllerRevisions, revision));
    this.#kept.set(uid, copy);
    return copy;
  }
}
