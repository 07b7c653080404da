import { expect, onTestFinished } from 'vitest';
import { controllerOf, type Stored } from '../../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { ListWatch } from '../../../kubernetes/list-watch.ts';
import type { TestFleet } from '../fleet.ts';

/** The UIDs of a VM and of its VMI. */
type Uids = Record<string, [vm: string, vmi: string | undefined]>;

/** Returns the UIDs of all VMs of a namespace, and of their VMIs. */
export async function uidsIn({ kube }: TestFleet, namespace: string): Promise<Uids> {
  const [vms, vmis] = await Promise.all([
    kube.list(VirtualMachines, { namespace }),
    kube.list(VirtualMachineInstances, { namespace }),
  ]);
  const byName = new Map(vmis.items.map(({ metadata }) => [metadata.name, metadata.uid]));
  return Object.fromEntries(
    vms.items.map(({ metadata }) => [metadata.name, [metadata.uid, byName.get(metadata.name)]]),
  );
}

/** Follows the VMs of a namespace: every version that each VM has had. */
export class OwnershipLog {
  readonly #versions: { name: string; uid: string; controllers: number }[] = [];
  readonly #made: string[] = [];
  readonly #deleted: string[] = [];

  static async start({ kube }: TestFleet, namespace: string): Promise<OwnershipLog> {
    const log = new OwnershipLog();
    let isFirst = true;
    const watch = new ListWatch<Stored, Stored>({
      client: kube,
      resource: VirtualMachines,
      namespace,
      view: (vm) => vm,
      onChange: (_key, before, after) => {
        if (before === undefined && !isFirst) log.#made.push(after!.metadata.name);
        if (after === undefined || after.metadata.deletionTimestamp !== undefined)
          log.#deleted.push(before!.metadata.name);
        if (after === undefined) return;
        const { name, uid, ownerReferences = [] } = after.metadata;
        log.#versions.push({ name, uid, controllers: ownerReferences.filter(({ controller }) => controller).length });
      },
    });
    await watch.start().ready();
    isFirst = false;
    onTestFinished(() => watch.stop());
    return log;
  }

  /** Each VM has had exactly one controller in every version, and none was made or deleted. */
  expectOneOwnerEach(): void {
    expect(this.#versions.filter(({ controllers }) => controllers !== 1)).toEqual([]);
    this.expectNoneMadeOrDeleted();
  }

  expectNoneMadeOrDeleted(): void {
    expect({ made: this.#made, deleted: this.#deleted }).toEqual({ made: [], deleted: [] });
  }
}

/** Returns the names of VMs by the kinds of their controllers, such as `drover.dev`. */
export async function ownersIn({ kube }: TestFleet, namespace: string): Promise<Record<string, string[]>> {
  const { items } = await kube.list(VirtualMachines, { namespace });
  const owners: Record<string, string[]> = {};
  for (const vm of items) {
    const group = controllerOf(vm)?.apiVersion.split('/')[0] ?? 'nobody';
    (owners[group] ??= []).push(vm.metadata.name);
  }
  return owners;
}
