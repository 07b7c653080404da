import type { KubeObject } from '../../../api/objects.ts';
import type { VmOwnerKind } from '../../../api/owner-kinds.ts';
import type { Identity } from '../../../api/owner-references.ts';
import { VirtualMachineInstances, VirtualMachines, type Resource } from '../../../api/resources.ts';
import { vmView, type VirtualMachine } from '../../../decisions/from-object/vm.ts';
import { vmiView, type VirtualMachineInstance } from '../../../decisions/from-object/vmi.ts';
import { earlier } from '../../../decisions/lib/earlier-and-later.ts';
import { withoutEnded, type Protections } from '../../../decisions/views/annotations/protection.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { ListWatch, type ListWatchOptions } from '../../../kubernetes/list-watch.ts';
import type { CacheChange } from './cache-change.ts';
import { DiskUsers } from './disk-users.ts';
import { FailedVmis } from './failed-vmis.ts';
import { NamedOperations } from './named-operations.ts';
import { ObjectIndex } from './object-index.ts';
import type { CommonOptions } from './owner-caches.ts';
import { VmiHistories } from './vmi-histories.ts';

type Controller = NonNullable<VmView['owner']>;

interface MemberCacheOptions<O extends KubeObject, V> extends Omit<ListWatchOptions<O, V>, 'onChange'> {
  /** Returns null for a member that no controller owns, undefined for an object that can't be a member. */
  controllerOf: (view: V) => Controller | null | undefined;
  onChange: (before: V | undefined, after: V | undefined) => void;
}

/** A cache of VMs, or of VMIs, by the pool or set that controls them. */
class MemberCache<O extends KubeObject, V extends { namespace: string; name: string }> extends ListWatch<O, V> {
  readonly #controllerOf: MemberCacheOptions<O, V>['controllerOf'];
  readonly #byController: ObjectIndex<V>;
  /** The views that an owner may own, by their namespace alone. */
  readonly #possibleMembers: ObjectIndex<V>;

  constructor({ controllerOf, onChange, ...options }: MemberCacheOptions<O, V>) {
    const byController = new ObjectIndex<V>((view) => {
      const controller = controllerOf(view);
      return controller === undefined ? [] : [keyOf(view.namespace, controller)];
    });
    const possibleMembers = new ObjectIndex<V>((view) => (controllerOf(view) === undefined ? [] : [view.namespace]));
    super({
      ...options,
      onChange: (_key, before, after) => {
        byController.change(before, after);
        possibleMembers.change(before, after);
        onChange(before, after);
      },
    });
    this.#controllerOf = controllerOf;
    this.#byController = byController;
    this.#possibleMembers = possibleMembers;
  }

  /** Returns the members that this pool or set owns. */
  ownedBy(kind: VmOwnerKind, { namespace, uid }: Identity): V[] {
    return this.#byController.of(keyOf(namespace, { kind, uid }));
  }

  /** Returns the members in a namespace that no controller owns. */
  uncontrolledIn(namespace: string): V[] {
    return this.#byController.of(keyOf(namespace, null));
  }

  /** Returns those in its namespace that may be members of some owner, but are not owned by this pool or set. */
  othersBeside(kind: VmOwnerKind, owner: Identity): V[] {
    return this.#possibleMembers.of(owner.namespace).filter((view) => !this.#isOwned(view, kind, owner));
  }

  /** Reports whether its namespace has an object of this name that this pool or set does not own. */
  isNameTaken(kind: VmOwnerKind, owner: Identity, name: string): boolean {
    const view = this.get(`${owner.namespace}/${name}`);
    return view !== undefined && !this.#isOwned(view, kind, owner);
  }

  /** `view` is in the owner's namespace. */
  #isOwned(view: V, kind: VmOwnerKind, { uid }: Identity): boolean {
    const controller = this.#controllerOf(view);
    return controller?.kind === kind && controller.uid === uid;
  }
}

/** `controller`: null for nobody. */
const keyOf = (namespace: string, controller: Pick<Controller, 'kind' | 'uid'> | null): string =>
  [namespace, ...(controller === null ? [] : [controller.kind, controller.uid])].join('/');

type Protected = Protections & { namespace: string; name: string };

/** A timer can't wait longer. */
const MAX_WAIT_MS = 2_147_483_647;

/** Tells when the protections of VMs end by themselves: nothing in the cluster changes then. */
export class EndingProtections {
  readonly #onEnd: (key: string, now: number) => void;
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(onEnd: (key: string, now: number) => void) {
    this.#onEnd = onEnd;
  }

  /** Follows what this VM is protected by now, and returns its current view. */
  seen<V extends Protected>(view: V): V {
    const now = Date.now();
    const current = withoutEnded(view, now);
    this.#wait(`${view.namespace}/${view.name}`, earlier(current.optedOutUntil, current.protectedUntil), now);
    return current;
  }

  #wait(key: string, until: number | null, now: number): void {
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
    if (until === null) return;
    const end = (): void => {
      this.#timers.delete(key);
      const at = Date.now();
      if (at < until) this.#wait(key, until, at);
      else this.#onEnd(key, at);
    };
    const timer = setTimeout(end, Math.min(until - now, MAX_WAIT_MS));
    timer.unref?.();
    this.#timers.set(key, timer);
  }
}

/** The caches of VMs and VMIs, and what this worker has seen of VMIs that may be gone by now. */
export interface MemberCaches {
  vms: MemberCache<VirtualMachine, VmView>;
  vmis: MemberCache<VirtualMachineInstance, VmiView>;
  failedVmis: Pick<FailedVmis, 'of' | 'reasonOf'>;
  vmiHistories: Pick<VmiHistories, 'of'>;
  diskUsers: Pick<DiskUsers, 'of'>;
  /** VMIs by the names of the nodes that they, or their pods, are on. */
  vmisByNode: Pick<ObjectIndex<VmiView>, 'of'>;
  operations: NamedOperations;
}

interface MemberCachesOptions {
  common: (resource: Resource) => CommonOptions;
  notify: (change: Extract<CacheChange, { kind: 'vm' | 'vmi' }>) => void;
  /** Gives a VM the role that its pool's record tells. */
  withRole: (vm: VmView) => VmView;
  /** Called when a VMI that ran has failed. */
  onVmiFailed?: ((vmi: VmiView) => void) | undefined;
}

/** Creates them. */
export function memberCaches({ common, notify, withRole, onVmiFailed }: MemberCachesOptions): MemberCaches {
  const failedVmis = new FailedVmis();
  const vmiHistories = new VmiHistories();
  const diskUsers = new DiskUsers();
  const vmisByNode = new ObjectIndex<VmiView>(({ node, podNode }) => [node, podNode].filter((name) => name !== null));
  const operations = new NamedOperations({
    client: common(VirtualMachines).client,
    onChange: (holder, key, current) => {
      if (holder === 'vm') vms.amend(key, (vm) => ({ ...vm, operations: current }));
      else vmis.amend(key, (vmi) => ({ ...vmi, operations: current }));
    },
  });
  const protections = new EndingProtections((key, now) => vms.amend(key, (vm) => withoutEnded(vm, now)));
  const vms = new MemberCache<VirtualMachine, VmView>({
    ...common(VirtualMachines),
    view: (vm) => protections.seen(operations.seen('vm', withRole(vmView(vm)))),
    controllerOf: ({ owner }) => owner,
    onChange: (before, after) => {
      if (before !== undefined && before.uid !== after?.uid) {
        failedVmis.forget(before);
        vmiHistories.forget(before);
      }
      if (before !== undefined && after === undefined) operations.forget('vm', before);
      diskUsers.change('VirtualMachine', before, after);
      notify({ kind: 'vm', before, after });
    },
    onWatchEvent: (type, { metadata }) => {
      const vm = { namespace: metadata.namespace!, uid: metadata.uid };
      if (type === 'ADDED') vmiHistories.made(vm, BigInt(metadata.resourceVersion));
      if (type === 'DELETED') vmiHistories.forget(vm);
    },
  });
  const vmis = new MemberCache<VirtualMachineInstance, VmiView>({
    ...common(VirtualMachineInstances),
    view: (vmi) => operations.seen('vmi', vmiView(vmi)),
    controllerOf: ({ standalone }) => standalone?.owner,
    onChange: (before, after) => {
      if (after !== undefined && failedVmis.add(after, Date.now())) onVmiFailed?.(after);
      if (before !== undefined && after === undefined) operations.forget('vmi', before);
      diskUsers.change('VirtualMachineInstance', before, after);
      vmisByNode.change(before, after);
      notify({ kind: 'vmi', before, after });
    },
    onWatchEvent: (type, vmi) => {
      const hasEnded = type === 'DELETED' || vmi.status?.phase === 'Failed' || vmi.status?.phase === 'Succeeded';
      if (hasEnded) vmiHistories.ended(vmiView(vmi), Date.now());
    },
    onGap: (version) => vmiHistories.gap(version),
  });
  return { vms, vmis, failedVmis, vmiHistories, diskUsers, vmisByNode, operations };
}
