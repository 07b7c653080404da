import type { KubeObject, Stored } from '../../../api/objects.ts';
import {
  ClusterVirtualMachineOperations,
  Namespaces,
  Nodes,
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
import { nodeView, type Node } from '../../../decisions/views/from-object/node.ts';
import { vmView, type VirtualMachine } from '../../../decisions/views/from-object/vm.ts';
import { vmiView, type VirtualMachineInstance } from '../../../decisions/views/from-object/vmi.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../../decisions/views/stored-schedule.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { ListWatch } from '../../../kubernetes/list-watch.ts';
import { hasRight } from '../../../kubernetes/rights.ts';
import type { Owner } from '../../cli/owner.ts';
import type { Session } from '../contract/messages.ts';
import type { Fleet } from './fleet.ts';
import { seenMigration } from './members.ts';

/** A kind that the page shows, and what becomes of a change to one of its objects. */
interface Source {
  resource: Resource;
  watch: (scope: Scope) => ListWatch<KubeObject, unknown>;
}

interface Scope {
  client: KubeClient;
  namespace?: string;
  onError: (error: Error) => void;
  onMissing: (why: string | null) => void;
}

function source<T extends KubeObject, V>(
  resource: Resource,
  view: (object: Stored<T>) => V,
  onChange: (key: string, before: V | undefined, after: V | undefined) => void,
): Source {
  return {
    resource,
    watch: (scope) =>
      new ListWatch<T, V>({ ...scope, resource, view, onChange, isOptional: true }) as unknown as ListWatch<
        KubeObject,
        unknown
      >,
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
  return {
    owners: [
      owner(VirtualMachinePools, 'VirtualMachinePool'),
      owner(VirtualMachineReplicaSets, 'VirtualMachineReplicaSet'),
      owner(VirtualMachineInstanceReplicaSets, 'VirtualMachineInstanceReplicaSet'),
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
      source(
        Nodes,
        (node: Stored<Node>) => nodeView(node),
        (key, _before, after) => fleet.setNode(key, after),
      ),
    ],
  };
}

const FORBIDDEN = 'you may not list and watch them';
const QUESTIONS_AT_ONCE = 8;

interface SourcesListener {
  /** Called when it has changed what the user may not see. */
  onUnseen: () => void;
  /** Called when the API server refuses what it has let the user see. */
  onRevoked?: (() => void) | undefined;
}

/** Follows all that the user may see, with one watch for all browsers. */
export class Sources {
  readonly #kube: KubeClient;
  readonly #fleet: Fleet;
  readonly #watches: ListWatch<KubeObject, unknown>[] = [];
  readonly #unseen = new Map<string, Session['unseen'][number]>();
  /** Why a watch broke that broke last. */
  lastError = '';
  #isStopped = false;
  readonly #listener: SourcesListener;

  constructor(kube: KubeClient, fleet: Fleet, listener: SourcesListener) {
    this.#kube = kube;
    this.#fleet = fleet;
    this.#listener = listener;
  }

  get unseen(): Session['unseen'] {
    return [...this.#unseen.values()];
  }

  /** For how long a watch has failed to follow, in milliseconds; 0 if all follow. */
  get behindMs(): number {
    return Math.max(0, ...this.#watches.map(({ behindMs }) => behindMs));
  }

  /**
   * Resolves to the namespaces that are watched, null for all, once all that may be listed is known. `namespace`: where
   * to look; if undefined, everywhere, and `elsewhere` alone if the user may list neither pools nor namespaces.
   */
  async start(namespace: string | undefined, elsewhere: readonly string[]): Promise<string[] | null> {
    const { owners, members, others } = sourcesOf(this.#fleet);
    const namespaces = namespace === undefined ? await this.#namespaces(elsewhere) : [namespace];
    // Members find the cards of their owners in place.
    for (const group of [owners, members, others]) {
      const scopes = group.flatMap((source) => {
        const within = source.resource.namespaced ? namespaces : null;
        return (within ?? [undefined]).map((namespace) => ({ ...source, namespace }));
      });
      await inTurn(scopes, (scope) => this.#follow(scope));
    }
    return namespaces;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#watches.map((watch) => watch.stop()));
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
    const may = await this.#may(resource, namespace);
    // A watch that begins after the end would hold up the process for ever.
    if (this.#isStopped) return;
    if (!may) return this.#setUnseen(resource, namespace, FORBIDDEN);
    const following = watch({
      client: this.#kube,
      ...(namespace === undefined ? {} : { namespace }),
      onError: (error) => {
        this.lastError = error.message;
        if (error instanceof KubeError && error.status === 403) this.#listener.onRevoked?.();
      },
      onMissing: (why) => this.#setUnseen(resource, namespace, why),
    });
    this.#watches.push(following);
    await following.start().ready();
  }

  #setUnseen(resource: Resource, namespace: string | undefined, why: string | null): void {
    const key = `${resource.plural}/${namespace ?? ''}`;
    if (why === null) this.#unseen.delete(key);
    else this.#unseen.set(key, { what: resource.plural, namespace: namespace ?? null, why });
    if (resource === VirtualMachineInstances) this.#fleet.setUnseenVmis(namespace ?? '*', why !== null);
    this.#listener.onUnseen();
  }

  /** If the API server can't be asked, it may: the watch tells. */
  async #may(resource: Resource, namespace: string | undefined): Promise<boolean> {
    const rights = await Promise.all(
      (['list', 'watch'] as const).map((verb) => hasRight(this.#kube, { verb, resource }, namespace).catch(() => true)),
    );
    return rights.every(Boolean);
  }

  /** Namespaces in which there may be something to see; null for all. */
  async #namespaces(elsewhere: readonly string[]): Promise<string[] | null> {
    if (await this.#may(VirtualMachinePools, undefined)) return null;
    const listed = await this.#kube
      .list(Namespaces, { metadataOnly: true })
      .then(({ items }) => items.map(({ metadata }) => metadata.name))
      .catch((error: unknown) => {
        if (error instanceof KubeError) return elsewhere;
        throw error;
      });
    const visible = new Set<string>();
    await inTurn(listed, async (namespace) => {
      const seen = await Promise.all([VirtualMachinePools, VirtualMachines].map((kind) => this.#may(kind, namespace)));
      if (seen.some(Boolean)) visible.add(namespace);
    });
    return visible.size === 0 ? elsewhere.slice(0, 1) : [...visible].toSorted();
  }
}

/** Calls `work` for each item, a few at a time. */
async function inTurn<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const take = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: QUESTIONS_AT_ONCE }, take));
}
