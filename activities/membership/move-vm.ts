import type { Stored } from '../../api/objects.ts';
import { identityOf, isControlledBy } from '../../api/ownership.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, ignoreStale } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { patchKept } from '../lib/refuse-unkept.ts';

/** KubeVirt writes to a VM that starts or migrates several times a second. */
const TRIES = 20;

/** A VM, and the VMI that is its own. */
export interface VmWithVmi<V extends Stored = Stored> {
  vm: V;
  vmi: Stored | undefined;
}

/** Merge patches of a VM and of its VMI. */
export interface VmPatches {
  /** Has the resource version of the VM that was read; null if the VM is not to be moved any more. */
  vm: object | null;
  /** Of `metadata`. */
  vmi: object;
}

interface MoveOptions<V extends Stored> {
  signal?: AbortSignal;
  patchesOf: (read: VmWithVmi<V>) => VmPatches;
  /** Asked right before the VM is written, and may forbid that. */
  mayMove: () => Promise<boolean>;
}

/**
 * Patches the VM's VMI, and then the VM, in one write that is refused if the VM has changed meanwhile. If this is cut
 * short between the two writes, the VM has not moved, and the next try continues here. Returns false if the VM is gone,
 * is being deleted, or may not be moved.
 */
export const moveVm = <V extends Stored>(
  kube: KubeClient,
  { namespace, name, uid }: { namespace: string; name: string; uid: string },
  { signal, patchesOf, mayMove }: MoveOptions<V>,
): Promise<boolean> =>
  retryOnConflict(
    async () => {
      const key = { namespace, name };
      const vm = await ignoreNotFound(kube.get<V>(VirtualMachines, key, { signal }));
      if (vm?.metadata.uid !== uid || vm.metadata.deletionTimestamp !== undefined) return false;
      const found = await ignoreNotFound(kube.get(VirtualMachineInstances, key, { signal }));
      const vmi = found !== undefined && isControlledBy(found, VirtualMachines, identityOf(vm)) ? found : undefined;
      const patches = patchesOf({ vm, vmi });
      if (patches.vm === null) return false;
      if (vmi !== undefined) {
        // KubeVirt writes to a VMI often, and none of that concerns its labels: its UID is guard enough.
        const patch = { metadata: { uid: vmi.metadata.uid, ...patches.vmi } };
        await ignoreStale(kube.patch(VirtualMachineInstances, key, 'merge', patch, { signal }));
      }
      if (!(await mayMove())) return false;
      await patchKept(kube, VirtualMachines, key, patches.vm, { signal });
      return true;
    },
    { tries: TRIES },
  );
