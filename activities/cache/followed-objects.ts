import { CLAIM_LABEL } from '../../api/claims/claim.ts';
import { KEPT_DISK, POOL_LABEL } from '../../api/labels-and-annotations.ts';
import { withoutManagedFields, type KubeObject } from '../../api/objects.ts';
import { OWNER_KINDS } from '../../api/owner-kinds.ts';
import {
  ControllerRevisions,
  isInNamespace,
  KubeVirts,
  Leases,
  Namespaces,
  Nodes,
  PersistentVolumeClaims,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
  VirtualMachineOperationSchedules,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import type { StoredBudget } from '../../decisions/disruption-budget/stored-budget.ts';
import { keptClaimView } from '../../decisions/from-object/kept-claim.ts';
import { revisionView, type ControllerRevision, type RevisionView } from '../../decisions/from-object/revision.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { KeptClaim } from '../../decisions/template/kept-disk.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { StoredSchedule } from '../../decisions/views/stored-schedule.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { ConfigurationContents } from '../configuration/contents.ts';
import type { CacheChange, OwnerChange } from './objects/cache-change.ts';
import { Expansions } from './objects/expansions.ts';
import { changeRoles, withKnownRole } from './objects/known-roles.ts';
import { KubeVirtStrategy } from './objects/kubevirt-strategy.ts';
import { LabelledObjects } from './objects/labelled-objects.ts';
import { memberCaches, type MemberCaches } from './objects/member-caches.ts';
import { MigrationCache } from './objects/migration-cache.ts';
import type { NamedOperations } from './objects/named-operations.ts';
import { NodeCache } from './objects/node-cache.ts';
import { commonTo, ownerCaches, type AllOptions, type OwnerCaches } from './objects/owner-caches.ts';
import { budgetCache, operationCache, type ScopedCache } from './objects/scoped-cache.ts';
import { isOptional } from './optional-kinds.ts';

/** What a worker follows, and whom it tells. */
export interface FollowedOptions extends AllOptions {
  /** Which kinds of objects are followed: by default all, or those of the namespace. Of another, nothing is known. */
  follows?: (resource: Resource) => boolean;
  /** Called when a VMI that ran has failed. KubeVirt starts a new one if its VM says so. */
  onVmiFailed?: (vmi: VmiView) => void;
}

type Cache = Pick<ListWatch<KubeObject, unknown>, 'size' | 'synced' | 'missing' | 'behindMs'>;

/** Why a worker of one namespace does without what is in none. */
const OUT_OF_REACH = 'the worker has rights in one namespace alone';

/**
 * The objects of a cluster, or of one of its namespaces, that a worker follows: all pools, replica sets of both kinds,
 * operations, VMs, VMIs, namespaces and nodes, the revisions, kept disks and migrations of pools, and KubeVirt's VM
 * rollout strategy.
 */
export class FollowedObjects implements OwnerCaches, Omit<MemberCaches, 'operations'> {
  readonly pools: OwnerCaches['pools'];
  readonly replicaSets: OwnerCaches['replicaSets'];
  readonly vmiSets: OwnerCaches['vmiSets'];
  /** What users have asked to be done to VMs. */
  readonly operations: ScopedCache<StoredOperation>;
  /** When they want which of these. */
  readonly schedules: ListWatch<StoredSchedule, StoredSchedule>;
  /** How many VMs may be disrupted at once, whatever owns them. */
  readonly budgets: ScopedCache<StoredBudget>;
  readonly vms: MemberCaches['vms'];
  readonly vmis: MemberCaches['vmis'];
  readonly failedVmis: MemberCaches['failedVmis'];
  readonly vmiHistories: MemberCaches['vmiHistories'];
  readonly diskUsers: MemberCaches['diskUsers'];
  readonly vmisByNode: MemberCaches['vmisByNode'];
  readonly migrations: MigrationCache;
  protected readonly namedOperations: NamedOperations;
  readonly revisions: LabelledObjects<ControllerRevision, RevisionView>;
  readonly nodes: NodeCache;
  /** Labels of namespaces, by their names: cluster-wide operations select by them. */
  readonly namespaces: ListWatch<KubeObject, Readonly<Record<string, string>>>;
  /** The claims of namespaces by their own workers, as the names of these namespaces. */
  protected readonly claims: ListWatch<KubeObject, string>;
  readonly keptClaims: LabelledObjects<KubeObject, KeptClaim & { poolUid: string }>;
  /** Secrets and ConfigMaps of pools whose VMs restart when they change. */
  readonly contents: ConfigurationContents;
  readonly expansions: Expansions;
  protected readonly strategy: KubeVirtStrategy;
  readonly #isFollowed: (resource: Resource) => boolean;
  readonly #listeners = new Set<(change: CacheChange) => void>();
  /** At which versions these last changed as plans see them: heartbeats of nodes change nothing. */
  #changedAt = { nodes: 0n, migrations: 0n };
  readonly #onListenerFailed: (error: Error) => void;

  constructor(options: FollowedOptions) {
    const { client, onError, onVmiFailed, namespace } = options;
    this.#isFollowed = options.follows ?? (namespace === undefined ? () => true : isInNamespace);
    this.#onListenerFailed = (error) => onError?.('listener', error);
    this.expansions = new Expansions(client);
    const common = commonTo({ ...options, isOptional });
    const owners = ownerCaches(common, (change) => this.#ownerChanged(change));
    this.contents = new ConfigurationContents({
      ...options,
      pools: () => owners.pools.values(),
      onMissed: (count) => options.onMissed?.('secrets and configmaps', count),
      onChange: (namespace, reference) => this.#notify({ kind: 'content', namespace, reference }),
    });
    const notify = this.#notify;
    const members = memberCaches({ common, notify, withRole: (vm) => withKnownRole(this.pools, vm), onVmiFailed });
    this.pools = owners.pools;
    this.replicaSets = owners.replicaSets;
    this.vmiSets = owners.vmiSets;
    this.vms = members.vms;
    this.vmis = members.vmis;
    this.failedVmis = members.failedVmis;
    this.vmiHistories = members.vmiHistories;
    this.diskUsers = members.diskUsers;
    this.vmisByNode = members.vmisByNode;
    this.namedOperations = members.operations;
    this.namespaces = new ListWatch({
      ...common(Namespaces),
      metadataOnly: true,
      view: ({ metadata }) => metadata.labels ?? {},
      onChange: () => notify({ kind: 'namespace' }),
    });
    this.claims = new ListWatch<KubeObject, string>({
      ...common(Leases),
      labelSelector: CLAIM_LABEL,
      view: ({ metadata }) => metadata.namespace!,
      onChange: (_key, before, after) => notify({ kind: 'claim', namespace: (after ?? before)! }),
    });
    this.operations = operationCache(common, notify, () => this.namespaces.missing === null);
    this.schedules = new ListWatch({
      ...common(VirtualMachineOperationSchedules),
      view: withoutManagedFields,
      onChange: (_key, before, after) => notify({ kind: 'schedule', before, after }),
    });
    this.budgets = budgetCache(common, notify);
    this.migrations = new MigrationCache({
      ...common(VirtualMachineInstanceMigrations),
      onOwnChange: (before, after) => notify({ kind: 'migration', before, after }),
      onInFlight: (key, was, is) => {
        const vmi = this.vmis.get(key);
        if (vmi !== undefined)
          notify({ kind: 'vmi', before: { ...vmi, migration: was }, after: { ...vmi, migration: is } });
      },
    });
    this.revisions = new LabelledObjects({
      ...common(ControllerRevisions),
      labelSelector: POOL_LABEL,
      view: revisionView,
      ownerOf: ({ poolUid }) => poolUid,
    });
    this.keptClaims = new LabelledObjects({
      ...common(PersistentVolumeClaims),
      labelSelector: KEPT_DISK,
      view: keptClaimView,
      ownerOf: ({ poolUid }) => poolUid,
      onChange: (before, after) => notify({ kind: 'disk', before, after }),
    });
    this.nodes = new NodeCache({
      ...common(Nodes),
      onChange: (before, after) => notify({ kind: 'node', before, after }),
      drainTaint: () => this.strategy.known.drainTaint,
    });
    this.strategy = new KubeVirtStrategy(common(KubeVirts), notify);
  }

  /** The kinds that are followed. */
  protected get lists() {
    return this.#all.filter(([resource]) => this.#isFollowed(resource));
  }

  /** What it does without: kinds of objects, and why it follows none of them. */
  get missing(): { resource: Resource; message: string }[] {
    return this.#all.flatMap(([resource, { missing }]) => {
      const message = this.#isFollowed(resource) ? missing : OUT_OF_REACH;
      return message === null ? [] : [{ resource, message }];
    });
  }

  get #all() {
    const { operations, schedules, budgets, vms, vmis, migrations, revisions, keptClaims, namespaces, nodes } = this;
    return [
      [KubeVirts, this.strategy.list],
      ...Object.values(OWNER_KINDS).map(({ resource, cache }) => [resource, this[cache]] as const),
      ...operations.lists,
      [VirtualMachines, vms],
      [VirtualMachineInstances, vmis],
      [VirtualMachineInstanceMigrations, migrations],
      [ControllerRevisions, revisions],
      [PersistentVolumeClaims, keptClaims],
      [Namespaces, namespaces],
      [Nodes, nodes],
      [Leases, this.claims],
      [VirtualMachineOperationSchedules, schedules],
      ...budgets.lists,
    ] as const;
  }

  /** The caches that decisions need, by the plural name of their resource. */
  get caches(): Record<string, Cache> {
    return Object.fromEntries(this.lists.map(([{ plural }, cache]) => [plural, cache]));
  }

  /** Returns the resource versions that these caches have reached: whatever is read from them now is not older. */
  versionsOf(...kinds: (keyof ResourceVersions)[]): ResourceVersions {
    return this.versionsIn(undefined, ...kinds);
  }

  /** The same for what is read of one namespace. */
  versionsIn(namespace: string | undefined, ...kinds: (keyof ResourceVersions)[]): ResourceVersions {
    const versionOf = (kind: keyof ResourceVersions): bigint =>
      kind === 'nodes' || kind === 'migrations' ? this.#changedAt[kind] : this[kind].newestIn(namespace);
    return Object.fromEntries(kinds.map((kind) => [kind, String(versionOf(kind))]));
  }

  subscribe(listener: (change: CacheChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The API server was restored: nothing counts as known until all has been listed again. */
  protected beginAnew(): void {
    this.#changedAt = { nodes: 0n, migrations: 0n };
    for (const [, cache] of this.lists) cache.restart();
    this.contents.restart();
  }

  #ownerChanged(change: OwnerChange): void {
    if (change.kind === 'pool') {
      this.contents.poolChanged(change.before, change.after);
      changeRoles(this.vms, change.before, change.after);
    }
    this.#notify(change);
  }

  readonly #notify = (change: CacheChange): void => {
    if (change.kind === 'node') this.#changedAt.nodes = this.nodes.version;
    if (change.kind === 'migration') this.#changedAt.migrations = this.migrations.newestIn();
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        // An error in one listener must not break the watch, which notifies all listeners.
        this.#onListenerFailed(error as Error);
      }
    }
  };
}
