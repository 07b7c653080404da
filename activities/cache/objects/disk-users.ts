import type { VmView } from '../../../decisions/views/vm.ts';
import { isFinal, type VmiView } from '../../../decisions/views/vmi.ts';

/** A VM or a VMI that uses a disk. */
interface DiskUser {
  kind: 'VirtualMachine' | 'VirtualMachineInstance';
  name: string;
}

type View = Pick<VmView, 'namespace' | 'name' | 'disks'>;

/** Which VMs, and which VMIs that have not ended, use which claims, whatever made them. */
export class DiskUsers {
  /** By `<namespace>/<claim>`, and there by kind and name. */
  readonly #byDisk = new Map<string, Map<string, DiskUser>>();

  /** Returns VMs before VMIs regardless of the order of their watches, so that messages about a disk are stable. */
  of(namespace: string, disk: string): DiskUser[] {
    const users = [...(this.#byDisk.get(`${namespace}/${disk}`)?.values() ?? [])];
    return users.toSorted((a, b) => a.kind.localeCompare(b.kind) || a.name.localeCompare(b.name));
  }

  change(kind: 'VirtualMachine', before: VmView | undefined, after: VmView | undefined): void;
  change(kind: 'VirtualMachineInstance', before: VmiView | undefined, after: VmiView | undefined): void;
  change(kind: DiskUser['kind'], before: VmView | VmiView | undefined, after: VmView | VmiView | undefined): void {
    const had = before === undefined ? [] : disksOf(before);
    const has = after === undefined ? [] : disksOf(after);
    for (const disk of had) if (!has.includes(disk)) this.#remove(kind, before!, disk);
    for (const disk of has) if (!had.includes(disk)) this.#add(kind, after!, disk);
  }

  #add(kind: DiskUser['kind'], { namespace, name }: View, disk: string): void {
    const key = `${namespace}/${disk}`;
    const users = this.#byDisk.get(key) ?? new Map<string, DiskUser>();
    this.#byDisk.set(key, users.set(`${kind}/${name}`, { kind, name }));
  }

  #remove(kind: DiskUser['kind'], { namespace, name }: View, disk: string): void {
    const key = `${namespace}/${disk}`;
    const users = this.#byDisk.get(key);
    users?.delete(`${kind}/${name}`);
    if (users?.size === 0) this.#byDisk.delete(key);
  }
}

const disksOf = (view: VmView | VmiView): readonly string[] => ('phase' in view && isFinal(view) ? [] : view.disks);
