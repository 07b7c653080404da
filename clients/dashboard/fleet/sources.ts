import { POOL_LABEL } from '../../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  ClusterVirtualMachineOperations,
  ControllerRevisions,
  Nodes,
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstanceReplicaSets,
  VirtualMachineInstances,
  VirtualMachineOperations,
  VirtualMachineOperationSchedules,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import type { StoredBudget } from '../../../decisions/disruption-budget/stored-budget.ts';
import type { Node } from '../../../decisions/from-object/node.ts';
import { vmView, type VirtualMachine } from '../../../decisions/from-object/vm.ts';
import { vmiView, type VirtualMachineInstance } from '../../../decisions/from-object/vmi.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../../decisions/views/stored-schedule.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { ListWatch } from '../../../kubernetes/list-watch.ts';
import { hasRight } from '../../../kubernetes/rights.ts';
import type { Owner } from '../../cli/owner.ts';
import type { Session } from '../contract/messages.ts';
import { seenNode, type SeenNode } from './drains.ts';
import type { Fleet } from './fleet.ts';
import { seenMigration } from './members.ts';
import { inTurn, VisibleNamespaces } from './namespaces.ts';
import { seenRevision } from './revisions.ts';

/** A kind that the page shows, and what becomes of a change to one of its objects. */
interface Source {
  resource: Resource;
  watch: (scope: Scope) => ListWatch<KubeObject, unknown>;
}

interface Scope {
  client: KubeClient;
  namespace?: string;
  onError: (error: Error) => void;
  onOpen: () => void;
  onMissing: (message: string | null) => void;
}

function source<T extends KubeObject, V>(
  resource: Resource,
  view: (object: Stored<T>) => V,
  onChange: (key: string, before: V | undefined, after: V | undefined) => void,
  selection: { labelSelector?: string } = {},
): Source {
  return {
    resource,
    watch: (scope) =>
      new ListWatch<T, V>({
        ...scope,
        ...selection,
        resource,
        view,
        onChange,
        isOptional: true,
      }) as unknown as ListWatch<KubeObject, unknown>,
  };
}

/** All but what managers of fields have noted, which is half of an object and is not shown. */
function slim<T extends KubeObject>(object: Stored<T>): Stored<T> {
  delete object.metadata.managedFields;
  return object;
}

function sourcesOf(fleet: Fleet): { owners: Source[]; members: Source[]; others: Source[] } {
  const owner = (resource: Resource, kind: Parameters<Fleet['setOwner']>[0]): Source =>
    source<Owner, Stored<Owner>>(resource, slim, (_key, before, after) => fleet.setOwner(kind, before, after));
  const operations = (resource: Resource): Source =>
    source<StoredOperation, StoredOperation>(resource, slim, (key, _before, after) => fleet.setOperation(key, after));
  const budgets = (resource: Resource): Source =>
    source<StoredBudget, StoredBudget>(resource, slim, (key, _before, after) => fleet.setBudget(key, after));
  return {
    owners: [
      owner(VirtualMachinePools, 'VirtualMachinePool'),
      owner(VirtualMachineReplicaSets, 'VirtualMachineReplicaSet'),
      owner(VirtualMachineInstanceReplicaSets, 'VirtualMachineInstanceReplicaSet'),
      source(
        ControllerRevisions,
        seenRevision,
        (key, before, after) => fleet.setRevision(key.slice(0, key.indexOf('/')), before, after),
        { labelSelector: POOL_LABEL },
      ),
    ],
    members: [
      source(
        VirtualMachines,
        (vm: Stored<VirtualMachine>) => vmView(vm),
        (key, _before, after) => fleet.setVm(key, after),
      ),
      source(
        VirtualMachineInstances,
        (vmi: Stored<VirtualMachineInstance>) => vmiView(vmi),
        (key, before, after) => fleet.setVmi(key, before, after),
      ),
      source(VirtualMachineInstanceMigrations, seenMigration, (key, before, after) =>
        fleet.setMigration(key, before, after),
      ),
    ],
    others: [
      operations(VirtualMachineOperations),
      operations(ClusterVirtualMachineOperations),
      source<StoredSchedule, StoredSchedule>(VirtualMachineOperationSchedules, slim, (key, _before, after) =>
        fleet.setSchedule(key, after),
      ),
      budgets(VirtualMachineDisruptionBudgets),
      budgets(ClusterVirtualMachineDisruptionBudgets),
      source<Node, SeenNode>(Nodes, seenNode, (key, _before, after) => fleet.setNode(key, after)),
    ],
  };
}

const FORBIDDEN = 'you may not list and watch them';
const WITHDRAWN = 'you may no longer list and watch them';

interface SourcesListener {
  /** Called when it has changed what the user may see, or which namespaces are watched. */
  onChange: () => void;
  /** Called when the API server refuses what it has let the user see. */
  onRevoked?: (() => void) | undefined;
}

/** Follows all that the user may see, with one watch for all browsers. */
export class Sources {
  readonly #kube: KubeClient;
  readonly #fleet: Fleet;
  /** What follows each kind, by its key in `#unseen`. */
  readonly #watches = new Map<string, ListWatch<KubeObject, unknown>>();
  readonly #unseen = new Map<string, Session['unseen'][number]>();
  /** Why a watch broke that broke last. */
  lastError = '';
  #isStopped = false;
  readonly #listener: SourcesListener;
  readonly #sources: ReturnType<typeof sourcesOf>;
  #visible: VisibleNamespaces | undefined;
  /** Namespaces that are watched, null for all. */
  namespaces: string[] | null = null;

  constructor(kube: KubeClient, fleet: Fleet, listener: SourcesListener) {
    this.#kube = kube;
    this.#fleet = fleet;
    this.#listener = listener;
    this.#sources = sourcesOf(fleet);
  }

  get unseen(): Session['unseen'] {
    return [...this.#unseen.values()];
  }

  /** For how long a watch has failed to follow that the user may follow, in milliseconds; 0 if all follow. */
  get behindMs(): number {
    const may = [...this.#watches].filter(([key]) => !this.#unseen.has(key));
    return Math.max(0, ...may.map(([, { behindMs }]) => behindMs));
  }

  /**
   * Resolves once all that may be listed is known. `namespace`: where to look; if undefined, everywhere, and in the
   * namespaces that the user may see into if they may not see all pools; of those `elsewhere`, and in any case in the
   * first of them, if there are no others. What may not be listed is tried again at least every 30 s: rights are
   * granted later.
   */
  async start(namespace: string | undefined, elsewhere: readonly string[]): Promise<void> {
    if (namespace !== undefined) this.namespaces = [namespace];
    else if (!(await this.#may(VirtualMachinePools, undefined))) return this.#startWithin(elsewhere);
    await this.#followAll(this.namespaces ?? [undefined], [undefined]);
  }

  async #startWithin(elsewhere: readonly string[]): Promise<void> {
    this.namespaces = [];
    await this.#followAll([], [undefined]);
    this.#visible = new VisibleNamespaces(this.#kube, {
      may: (name) => this.#mayIn(name),
      onSeen: (names) => this.#enter(names),
      onGone: (name) => this.#leave(name),
    });
    await this.#visible.start();
    if (this.namespaces.length > 0) return;
    const seen = await Promise.all(elsewhere.map(async (name) => ((await this.#mayIn(name)) ? [name] : [])));
    await this.#enter(seen.some(({ length }) => length > 0) ? seen.flat() : elsewhere.slice(0, 1));
  }

  /** Whether there may be something to see in the namespace. */
  async #mayIn(name: string): Promise<boolean> {
    const seen = await Promise.all([VirtualMachinePools, VirtualMachines].map((kind) => this.#may(kind, name)));
    return seen.some(Boolean);
  }

  async #enter(names: readonly string[]): Promise<void> {
    this.namespaces = [...new Set([...(this.namespaces ?? []), ...names])].toSorted();
    this.#listener.onChange();
    await this.#followAll(names, []);
  }

  #leave(name: string): void {
    this.namespaces = (this.namespaces ?? []).filter((one) => one !== name);
    for (const group of Object.values(this.#sources))
      for (const { resource } of group) {
        const key = keyOf(resource, name);
        void this.#watches.get(key)?.stop();
        this.#watches.delete(key);
        this.#unseen.delete(key);
      }
    this.#fleet.setUnseenVmis(name, false);
    this.#listener.onChange();
  }

  /** `within`: the namespaces for kinds that have one; `beside`: whether to follow the others, by one `undefined`. */
  async #followAll(within: readonly (string | undefined)[], beside: readonly undefined[]): Promise<void> {
    const { owners, members, others } = this.#sources;
    // Members find the cards of their owners in place.
    for (const group of [owners, members, others]) {
      const scopes = group.flatMap((source) =>
        (source.resource.namespaced ? within : beside).map((namespace) => ({ ...source, namespace })),
      );
      await inTurn(scopes, (scope) => this.#follow(scope));
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([this.#visible?.stop(), ...[...this.#watches.values()].map((watch) => watch.stop())]);
  }

  async #follow({
    resource,
    watch,
    namespace,
  }: {
    resource: Resource;
    watch: Source['watch'];
    namespace: string | undefined;
  }): Promise<void> {
    const key = keyOf(resource, namespace);
    // A watch that begins after the end would hold up the process for ever.
    if (this.#isStopped || this.#watches.has(key)) return;
    let wasOpen = false;
    const following = watch({
      client: this.#kube,
      ...(namespace === undefined ? {} : { namespace }),
      onError: (error) => {
        this.lastError = error.message;
        if (!(error instanceof KubeError) || error.status !== 403) return;
        if (!wasOpen) return this.#setUnseen(resource, namespace, FORBIDDEN);
        this.#setUnseen(resource, namespace, WITHDRAWN, new Date(this.#kube.clock.now()).toISOString());
        this.#listener.onRevoked?.();
      },
      onOpen: () => {
        wasOpen = true;
        this.#setUnseen(resource, namespace, null);
      },
      onMissing: (message) =>
        this.#setUnseen(resource, namespace, message === 'this client may not list it' ? FORBIDDEN : message),
    });
    this.#watches.set(key, following);
    await following.start().ready();
  }

  /** `since`: what is known of it is from before that. */
  #setUnseen(
    resource: Resource,
    namespace: string | undefined,
    message: string | null,
    since: string | null = null,
  ): void {
    const key = keyOf(resource, namespace);
    const known = this.#unseen.get(key)?.message ?? null;
    if (known === message) return;
    const isForbidden = message === FORBIDDEN || message === WITHDRAWN;
    if (message === null) this.#unseen.delete(key);
    else this.#unseen.set(key, { what: resource.plural, namespace: namespace ?? null, message, isForbidden, since });
    if (resource === VirtualMachineInstances) this.#fleet.setUnseenVmis(namespace ?? '*', message !== null);
    this.#listener.onChange();
  }

  /** If the API server can't be asked, it may: the watch tells. */
  async #may(resource: Resource, namespace: string | undefined): Promise<boolean> {
    const rights = await Promise.all(
      (['list', 'watch'] as const).map((verb) => hasRight(this.#kube, { verb, resource }, namespace).catch(() => true)),
    );
    return rights.every(Boolean);
  }
}

const keyOf = ({ plural, group }: Resource, namespace: string | undefined): string =>
  `${plural}.${group}/${namespace ?? ''}`;
