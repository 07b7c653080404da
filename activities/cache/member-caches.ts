import type { KubeObject } from '../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachines, type Resource } from '../../api/resources.ts';
import { vmView, type VirtualMachine } from '../../decisions/views/from-object/vm.ts';
import { vmiView, type VirtualMachineInstance } from '../../decisions/views/from-object/vmi.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { ListWatch, type ListWatchOptions } from '../../kubernetes/list-watch.ts';
import { FailedVmis } from '../healing/failed-vmis.ts';
import { VmiHistories } from '../healing/vmi-histories.ts';
import type { CacheChange } from './cache-change.ts';
import type { CommonOptions } from './owner-caches.ts';
import { OwnerIndex } from './owner-index.ts';

interface MemberCacheOptions<O extends KubeObject, V> extends Omit<ListWatchOptions<O, V>, 'onChange'> {
  /** Returns null for a member that no controller owns, undefined for an object that can be nobody's member. */
  controllerOf: (view: V) => { uid: string } | null | undefined;
  onChange: (before: V | undefined, after: V | undefined) => void;
}

/** A cache of VMs, or of VMIs, by the pool or set that controls them. */
export class MemberCache<O extends KubeObject, V extends { namespace: string; name: string }> extends ListWatch<O, V> {
  readonly #controllerOf: MemberCacheOptions<O, V>['controllerOf'];
  readonly #byOwner: OwnerIndex<V>;
  readonly #uncontrolled: OwnerIndex<V>;

  constructor({ controllerOf, onChange, ...options }: MemberCacheOptions<O, V>) {
    const byOwner = new OwnerIndex<V>((view) => controllerOf(view)?.uid ?? null);
    const uncontrolled = new OwnerIndex<V>((view) => (controllerOf(view) === null ? view.namespace : null));
    super({
      ...options,
      onChange: (_key, before, after) => {
        byOwner.change(before, after);
        uncontrolled.change(before, after);
        onChange(before, after);
      },
    });
    this.#controllerOf = controllerOf;
    this.#byOwner = byOwner;
    this.#uncontrolled = uncontrolled;
  }

  /** Returns those that the pool or set with this UID owns. */
  ownedBy(uid: string): V[] {
    return this.#byOwner.of(uid);
  }

  /** Returns those of a namespace that no controller owns. */
  uncontrolledIn(namespace: string): V[] {
    return this.#uncontrolled.of(namespace);
  }

  /** Yields those of a namespace that may be somebody's members, but are not owned by the pool or set with this UID. */
  *othersIn(namespace: string, uid: string): Generator<V> {
    for (const view of this.values()) {
      const controller = this.#controllerOf(view);
      if (view.namespace === namespace && controller !== undefined && controller?.uid !== uid) yield view;
    }
  }

  /** Reports whether an object of this name exists that the pool or set with this UID does not own. */
  isNameTaken(namespace: string, name: string, uid: string): boolean {
    const view = this.get(`${namespace}/${name}`);
    return view !== undefined && this.#controllerOf(view)?.uid !== uid;
  }
}

/** The caches of VMs and VMIs, and what this worker has seen of VMIs that may be gone by now. */
export interface MemberCaches {
  vms: MemberCache<VirtualMachine, VmView>;
  vmis: MemberCache<VirtualMachineInstance, VmiView>;
  failedVmis: Pick<FailedVmis, 'of' | 'reasonOf'>;
  vmiHistories: Pick<VmiHistories, 'of'>;
}

/** Creates them. `onVmiFailed` is called when a VMI that ran has failed. */
export function memberCaches(
  common: (resource: Resource) => CommonOptions,
  notify: (change: Extract<CacheChange, { kind: 'vm' | 'vmi' }>) => void,
  onVmiFailed?: (vmi: VmiView) => void,
): MemberCaches {
  const failedVmis = new FailedVmis();
  const vmiHistories = new VmiHistories();
  const vms = new MemberCache<VirtualMachine, VmView>({
    ...common(VirtualMachines),
    view: vmView,
    controllerOf: ({ owner }) => owner,
    onChange: (before, after) => {
      if (before !== undefined && before.uid !== after?.uid) {
        failedVmis.forget(before.uid);
        vmiHistories.forget(before.uid);
      }
      notify({ kind: 'vm', before, after });
    },
    onWatchEvent: (type, { metadata }) => {
      if (type === 'ADDED') vmiHistories.made(metadata.uid, BigInt(metadata.resourceVersion));
      if (type === 'DELETED') vmiHistories.forget(metadata.uid);
    },
  });
  const vmis = new MemberCache<VirtualMachineInstance, VmiView>({
    ...common(VirtualMachineInstances),
    view: vmiView,
    controllerOf: ({ standalone }) => standalone?.owner,
    onChange: (before, after) => {
      if (after !== undefined && failedVmis.note(after, Date.now())) onVmiFailed?.(after);
      notify({ kind: 'vmi', before, after });
    },
    onWatchEvent: (type, vmi) => {
      const hasEnded = type === 'DELETED' || vmi.status?.phase === 'Failed' || vmi.status?.phase === 'Succeeded';
      if (hasEnded) vmiHistories.ended(vmiView(vmi), Date.now());
    },
    onGap: (version) => vmiHistories.gap(version),
  });
  return { vms, vmis, failedVmis, vmiHistories };
}
