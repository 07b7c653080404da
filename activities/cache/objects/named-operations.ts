import { VirtualMachineRestores, VirtualMachineSnapshots, type Resource } from '../../../api/resources.ts';
import { overdueAt, withOverdue } from '../../../decisions/disruption/overdue.ts';
import type { Operation, OperationKind } from '../../../decisions/views/operation.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';

/**
 * The objects that ask for operations on VMs. A backup is none: KubeVirt goes by what the VMI says about it, and that
 * ends with the VMI.
 */
const RESOURCE_OF: Partial<Record<OperationKind, Resource>> = {
  Snapshot: VirtualMachineSnapshots,
  Restore: VirtualMachineRestores,
};

/** How often it is asked whether an object is still there. */
const AGAIN_MS = 60_000;
const DEADLINE_MS = 5_000;

interface Operated {
  namespace: string;
  name: string;
  operations: readonly Operation[];
}

type Holder = 'vm' | 'vmi';

interface Options {
  client: KubeClient;
  /** Called when it is known that the operations of a VM, or a VMI, are others than its status says. */
  onChange: (holder: Holder, key: string, operations: readonly Operation[]) => void;
}

interface Tracked {
  isGone: boolean;
  holders: Map<string, { holder: Holder; view: Operated }>;
  again: NodeJS.Timeout | undefined;
}

/**
 * Tells which operations no longer exist: the status of a VM names an object that is gone, so nothing will ever remove
 * the name. An operation that is not known to be gone counts as existing.
 */
export class NamedOperations {
  readonly #options: Options;
  readonly #tracked = new Map<string, Tracked>();
  /** What each VM and VMI names, by its holder and key. */
  readonly #named = new Map<string, string[]>();
  /** Since when the operations of each VM and VMI last, by their kinds: if nothing says it, since they were seen. */
  readonly #lasting = new Map<string, { since: Map<OperationKind, number>; timer: NodeJS.Timeout | undefined }>();
  #isStopped = false;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Returns the view without what is known to be gone; of the others, it says since when they last. */
  current<V extends Operated>(holder: Holder, view: V): V {
    if (view.operations.length === 0) return view;
    const now = Date.now();
    const since = this.#lasting.get(idIn(holder, view))?.since;
    const operations = view.operations
      .filter((one) => this.#tracked.get(idOf(view, one) ?? '')?.isGone !== true)
      .map((one): Operation => ({ since: since?.get(one.kind) ?? now, ...one }));
    return { ...view, operations: withOverdue(operations, now) };
  }

  /** Follows the objects that the status of a VM, or of a VMI, names now; and returns its current view. */
  seen<V extends Operated>(holder: Holder, view: V): V {
    const key = `${view.namespace}/${view.name}`;
    const operations = view.operations.filter((one) => idOf(view, one) !== undefined);
    if (operations.length > 0 || this.#named.has(`${holder}/${key}`)) this.#follow(holder, key, view, operations);
    this.#date(holder, view);
    return this.current(holder, view);
  }

  /** Forgets a VM, or a VMI, that is gone. */
  forget(holder: Holder, { namespace, name }: { namespace: string; name: string }): void {
    const id = `${holder}/${namespace}/${name}`;
    for (const named of this.#named.get(id) ?? []) this.#drop(named, id);
    this.#named.delete(id);
    clearTimeout(this.#lasting.get(id)?.timer);
    this.#lasting.delete(id);
  }

  stop(): void {
    this.#isStopped = true;
    for (const { again } of this.#tracked.values()) clearTimeout(again);
    for (const { timer } of this.#lasting.values()) clearTimeout(timer);
  }

  /** Notes since when the operations last, and tells when the next of them has taken too long. */
  #date(holder: Holder, view: Operated): void {
    const id = idIn(holder, view);
    const before = this.#lasting.get(id);
    clearTimeout(before?.timer);
    this.#lasting.delete(id);
    if (view.operations.length === 0 || this.#isStopped) return;
    const now = Date.now();
    const sinceOf = ({ kind, since }: Operation): number => since ?? before?.since.get(kind) ?? now;
    const since = new Map(view.operations.map((one) => [one.kind, sinceOf(one)]));
    const ends = view.operations.map((one) => overdueAt({ ...one, since: sinceOf(one) })).filter((at) => at > now);
    const tell = (): void => {
      this.#options.onChange(holder, `${view.namespace}/${view.name}`, this.current(holder, view).operations);
      this.#date(holder, view);
    };
    const timer = ends.length === 0 ? undefined : setTimeout(tell, Math.min(...ends) - now);
    timer?.unref?.();
    this.#lasting.set(id, { since, timer });
  }

  #follow(holder: Holder, key: string, view: Operated, operations: readonly Operation[]): void {
    const id = `${holder}/${key}`;
    const named = operations.map((one) => idOf(view, one)!);
    for (const former of this.#named.get(id) ?? []) if (!named.includes(former)) this.#drop(former, id);
    if (named.length === 0) this.#named.delete(id);
    else this.#named.set(id, named);
    for (const operation of operations) {
      const path = idOf(view, operation)!;
      const tracked = this.#tracked.get(path) ?? { isGone: false, holders: new Map(), again: undefined };
      tracked.holders.set(id, { holder, view });
      if (this.#tracked.has(path)) continue;
      this.#tracked.set(path, tracked);
      void this.#check(path, view.namespace, operation);
    }
  }

  #drop(path: string, holder: string): void {
    const tracked = this.#tracked.get(path);
    tracked?.holders.delete(holder);
    if (tracked === undefined || tracked.holders.size > 0) return;
    clearTimeout(tracked.again);
    this.#tracked.delete(path);
  }

  async #check(path: string, namespace: string, operation: Operation): Promise<void> {
    const isGone = await this.#isGone(namespace, operation);
    const tracked = this.#tracked.get(path);
    if (tracked === undefined || this.#isStopped) return;
    if (isGone !== null && isGone !== tracked.isGone) {
      tracked.isGone = isGone;
      for (const { holder, view } of tracked.holders.values())
        this.#options.onChange(holder, `${view.namespace}/${view.name}`, this.current(holder, view).operations);
    }
    tracked.again = setTimeout(() => void this.#check(path, namespace, operation), AGAIN_MS);
    tracked.again.unref?.();
  }

  /** Null if that can't be known: the API server doesn't answer, or doesn't serve such objects. */
  async #isGone(namespace: string, { kind, object }: Operation): Promise<boolean | null> {
    try {
      await this.#options.client.get(RESOURCE_OF[kind]!, { namespace, name: object! }, { deadlineMs: DEADLINE_MS });
      return false;
    } catch (error) {
      return error instanceof KubeError && error.status === 404 && error.reason === 'NotFound' ? true : null;
    }
  }
}

const idIn = (holder: Holder, { namespace, name }: Operated): string => `${holder}/${namespace}/${name}`;

/** Names the object that asks for the operation; undefined if there is none. */
const idOf = ({ namespace }: Operated, { kind, object }: Operation): string | undefined =>
  RESOURCE_OF[kind] === undefined || object === null ? undefined : `${kind}/${namespace}/${object}`;
