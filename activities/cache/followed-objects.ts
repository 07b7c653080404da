import { KEPT_DISK, POOL_LABEL } from '../../api/labels-and-annotations.ts';
import type { KubeObject } from '../../api/objects.ts';
import { OWNER_KINDS } from '../../api/owner-kinds.ts';
import {
  ControllerRevisions,
  isInNamespace,
  KubeVirts,
  Leases,
  Namespaces,
  Nodes,
  PersistentVolumeClaims,
  PodDisruptionBudgets,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
  VirtualMachineOperationSchedules,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import type { KeptClaim } from '../../decisions/disks/kept-claims.ts';
import { podBudgetView, type PodBudgetView, type PodDisruptionBudget } from '../../decisions/drain/pod-budget.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { keptClaimView } from '../../decisions/views/from-object/kept-claim.ts';
import {
  revisionView,
  type ControllerRevision,
  type RevisionView,
} from '../../decisions/views/from-object/revision.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { ConfigurationContents } from '../configuration/contents.ts';
import { claimCache, type ClaimCache } from './claims.ts';
import type { CacheChange, OwnerChange } from './objects/cache-change.ts';
import { Expansions } from './objects/expansions.ts';
import { changeRoles, withKnownRole } from './objects/known-roles.ts';
import { KubeVirtStrategy } from './objects/kubevirt-strategy.ts';
import { LabelledObjects } from './objects/labelled-objects.ts';
import { memberCaches, type MemberCaches } from './objects/member-caches.ts';
import { MigrationCache } from './objects/migration-cache.ts';
import type { NamedOperations } from './objects/named-operations.ts';
import { NodeCache } from './objects/node-cache.ts';
import {
  namespaceCache,
  OperationCache,
  scheduleCache,
  type NamespaceCache,
  type ScheduleCache,
} from './objects/operation-cache.ts';
import {
  commonTo,
  ownerCaches,
  type AllOptions,
  type CommonOptions,
  type OwnerCaches,
} from './objects/owner-caches.ts';
import { isOptional } from './optional-kinds.ts';

/** What a worker follows, and whom it tells. */
export interface FollowedOptions extends AllOptions {
  /** Which kinds of objects are followed: by default all, or those of the namespace. Of another, nothing is known. */
  follows?: (resource: Resource) => boolean;
  /** Called when a VMI that ran has failed. KubeVirt starts a new one if its VM says so. */
  onVmiFailed?: (vmi: VmiView) => void;
}

type Cache = Pick<ListWatch<KubeObject, unknown>, 'size' | 'synced' | 'missing' | 'behindMs'>;

const podBudgetCache = (
  options: CommonOptions,
  onChange: (change: Extract<CacheChange, { kind: 'pod budget' }>) => void,
): ListWatch<PodDisruptionBudget, PodBudgetView | null> =>
  new ListWatch<PodDisruptionBudget, PodBudgetView | null>({
    ...options,
    view: podBudgetView,
    onChange: (_key, before, after) => {
      if ((after ?? before) != null)
        onChange({ kind: 'pod budget', before: before ?? undefined, after: after ?? undefined });
    },
  });

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
  readonly operations: OperationCache;
  /** When they want which of these. */
  readonly schedules: ScheduleCache;
  readonly vms: MemberCaches['vms'];
  readonly vmis: MemberCaches['vmis'];
  readonly failedVmis: MemberCaches['failedVmis'];
  readonly vmiHistories: MemberCaches['vmiHistories'];
  readonly diskUsers: MemberCaches['diskUsers'];
  readonly migrations: MigrationCache;
  protected readonly namedOperations: NamedOperations;
  /** PodDisruptionBudgets with names that pools use, whatever their owners. */
  readonly podBudgets: ListWatch<PodDisruptionBudget, PodBudgetView | null>;
  readonly revisions: LabelledObjects<ControllerRevision, RevisionView>;
  readonly nodes: NodeCache;
  /** Labels of namespaces. */
  readonly namespaces: NamespaceCache;
  protected readonly claims: ClaimCache;
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
    const members = memberCaches({
      common,
      notify: (change) => this.#notify(change),
      withRole: (vm) => withKnownRole(this.pools, vm),
      onVmiFailed,
    });
    this.pools = owners.pools;
    this.replicaSets = owners.replicaSets;
    this.vmiSets = owners.vmiSets;
    this.vms = members.vms;
    this.vmis = members.vmis;
    this.failedVmis = members.failedVmis;
    this.vmiHistories = members.vmiHistories;
    this.diskUsers = members.diskUsers;
    this.namedOperations = members.operations;
    this.namespaces = namespaceCache(common);
    this.claims = claimCache(common, (namespace) => this.#notify({ kind: 'claim', namespace }));
    this.operations = new OperationCache(
      common,
      (change) => this.#notify(change),
      () => this.namespaces.missing === null,
    );
    this.schedules = scheduleCache(common, (change) => this.#notify(change));
    this.migrations = new MigrationCache({
      ...common(VirtualMachineInstanceMigrations),
      onOwnChange: (before, after) => this.#notify({ kind: 'migration', before, after }),
      onInFlight: (key, former, latter) => {
        const vmi = this.vmis.get(key);
        if (vmi === undefined) return;
        this.#notify({
          kind: 'vmi',
          before: { ...vmi, migration: former ?? null },
          after: { ...vmi, migration: latter ?? null },
        });
      },
    });
    this.podBudgets = podBudgetCache(common(PodDisruptionBudgets), (change) => this.#notify(change));
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
      onChange: (before, after) => this.#notify({ kind: 'disk', before, after }),
    });
    this.nodes = new NodeCache({
      ...common(Nodes),
      onChange: (before, after) => this.#notify({ kind: 'node', before, after }),
      drainTaint: () => this.strategy.drainTaint,
    });
    this.strategy = new KubeVirtStrategy(common(KubeVirts), (before, after) =>
      this.#notify({ kind: 'strategy', before, after }),
    );
  }

  /** The kinds that are followed. */
  protected get lists() {
    return this.#all.filter(([resource]) => this.#isFollowed(resource));
  }

  /** What it does without: kinds of objects, and why it follows none of them. */
  get missing(): { resource: Resource; why: string }[] {
    return this.#all.flatMap(([resource, { missing }]) => {
      const why = this.#isFollowed(resource) ? missing : OUT_OF_REACH;
      return why === null ? [] : [{ resource, why }];
    });
  }

  get #all() {
    const { operations, schedules, vms, vmis, migrations, podBudgets, revisions, keptClaims, namespaces, nodes } = this;
    return [
      [KubeVirts, this.strategy.list],
      ...Object.values(OWNER_KINDS).map(({ resource, cache }) => [resource, this[cache]] as const),
      ...operations.lists,
      [VirtualMachines, vms],
      [VirtualMachineInstances, vmis],
      [VirtualMachineInstanceMigrations, migrations],
      [PodDisruptionBudgets, podBudgets],
      [ControllerRevisions, revisions],
      [PersistentVolumeClaims, keptClaims],
      [Namespaces, namespaces],
      [Nodes, nodes],
      [Leases, this.claims],
      [VirtualMachineOperationSchedules, schedules],
    ] as const;
  }

  /** The caches that decisions need, by the plural name of their resource. */
  get caches(): Record<string, Cache> {
    return Object.fromEntries(this.lists.map(([{ plural }, cache]) => [plural, cache]));
  }

  /** Returns the resource versions that these caches have reached: whatever is read from them now is not older. */
  versionsOf(...kinds: (keyof ResourceVersions)[]): ResourceVersions {
    const versionOf = (kind: keyof ResourceVersions): bigint =>
      kind === 'nodes' || kind === 'migrations' ? this.#changedAt[kind] : this[kind].version;
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

  #notify(change: CacheChange): void {
    if (change.kind === 'node') this.#changedAt.nodes = this.nodes.version;
    if (change.kind === 'migration') this.#changedAt.migrations = this.migrations.version;
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        // An error in one listener must not break the watch, which notifies all listeners.
        this.#onListenerFailed(error as Error);
      }
    }
  }
}
