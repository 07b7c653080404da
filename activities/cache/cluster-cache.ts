import { CLAIM_NAME } from '../../api/claim.ts';
import { KEPT_DISK, POOL_LABEL } from '../../api/names.ts';
import type { KubeObject, Stored } from '../../api/objects.ts';
import { OWNER_KINDS } from '../../api/owner-kinds.ts';
import type { Identity } from '../../api/ownership.ts';
import type { VmRolloutStrategy } from '../../api/pool/pool.ts';
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
import {
  podBudgetName,
  podBudgetView,
  type PodBudgetView,
  type PodDisruptionBudget,
} from '../../decisions/drain/pod-budget.ts';
import { VERSIONED, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { keptClaimView } from '../../decisions/views/from-object/kept-claim.ts';
import {
  revisionView,
  type ControllerRevision,
  type RevisionView,
} from '../../decisions/views/from-object/revision.ts';
import { vmView, type VirtualMachine } from '../../decisions/views/from-object/vm.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeVirtPlugs } from '../../decisions/vm-update/disruption.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Contact } from '../../kubernetes/contact.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { ConfigurationContents } from '../configuration/contents.ts';
import { claimCache, type ClaimCache } from './claims.ts';
import { confirm, wasRestored } from './confirm.ts';
import { isOptional } from './features.ts';
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

/** How long a decision waits for the watch to catch up before it relists. */
const CATCH_UP_MS = 2_000;

interface ClusterCacheOptions extends AllOptions {
  /** Which kinds of objects are followed: by default all, or those of the namespace. Of another, nothing is known. */
  follows?: (resource: Resource) => boolean;
  /** Called when the API server stops answering, and when it answers again. */
  onContact?: (isLost: boolean) => void;
  /** Called when the API server turns out to have been restored from a backup: all is listed anew. */
  onRestored?: () => void;
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

/** For small requests: an answer that takes longer is worth no more than none. */
const CONTACT_DEADLINE_MS = 5_000;

/** Why a worker of one namespace does without what is in none. */
const OUT_OF_REACH = 'the worker has rights in one namespace alone';

/**
 * One worker's cache of a cluster, or of one of its namespaces, which follows the API server: all pools, replica sets
 * of both kinds, operations, VMs, VMIs, namespaces and nodes, the revisions, kept disks and migrations of pools, and
 * KubeVirt's VM rollout strategy.
 */
export class ClusterCache implements OwnerCaches, Omit<MemberCaches, 'operations'> {
  readonly pools: OwnerCaches['pools'];
  readonly replicaSets: OwnerCaches['replicaSets'];
  readonly vmiSets: OwnerCaches['vmiSets'];
  /** What people have asked to be done to VMs. */
  readonly operations: OperationCache;
  /** When they want which of these. */
  readonly schedules: ScheduleCache;
  readonly vms: MemberCaches['vms'];
  readonly vmis: MemberCaches['vmis'];
  readonly failedVmis: MemberCaches['failedVmis'];
  readonly vmiHistories: MemberCaches['vmiHistories'];
  readonly diskUsers: MemberCaches['diskUsers'];
  readonly migrations: MigrationCache;
  readonly #namedOperations: NamedOperations;
  /** PodDisruptionBudgets with the names that pools give theirs, whoever owns them. */
  readonly podBudgets: ListWatch<PodDisruptionBudget, PodBudgetView | null>;
  readonly revisions: LabelledObjects<ControllerRevision, RevisionView>;
  readonly nodes: NodeCache;
  /** Labels of namespaces. */
  readonly namespaces: NamespaceCache;
  readonly #claims: ClaimCache;
  readonly keptClaims: LabelledObjects<KubeObject, KeptClaim & { poolUid: string }>;
  /** Secrets and ConfigMaps of pools whose VMs restart when they change. */
  readonly contents: ConfigurationContents;
  readonly expansions: Expansions;
  readonly #strategy: KubeVirtStrategy;
  readonly #client: KubeClient;
  readonly #follows: (resource: Resource) => boolean;
  readonly #contact: Contact;
  readonly #listeners = new Set<(change: CacheChange) => void>();
  /** At which versions these last changed as plans see them: heartbeats of nodes change nothing. */
  readonly #changedAt = { nodes: 0n, migrations: 0n };
  readonly #onListenerFailed: (error: Error) => void;

  constructor(options: ClusterCacheOptions) {
    const { client, onError, onContact, onVmiFailed, namespace } = options;
    const { follows = namespace === undefined ? () => true : isInNamespace } = options;
    this.#onListenerFailed = (error) => onError?.('listener', error);
    this.#client = client;
    this.#follows = follows;
    this.expansions = new Expansions(client);
    this.#contact = new Contact({
      ask: () => this.#ask(options),
      behindMs: () => Math.max(...Object.values(this.caches).map(({ behindMs }) => behindMs)),
      onChange: onContact,
    });
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
    this.#namedOperations = members.operations;
    this.namespaces = namespaceCache(common);
    this.#claims = claimCache(common, (namespace) => this.#notify({ kind: 'claim', namespace }));
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
      drainTaint: () => this.#strategy.drainTaint,
    });
    this.#strategy = new KubeVirtStrategy(common(KubeVirts), (before, after) =>
      this.#notify({ kind: 'strategy', before, after }),
    );
  }

  /** Resolves once all first lists are in the caches. */
  async start(): Promise<void> {
    await Promise.all(this.#lists.map(([, cache]) => cache.start().ready()));
    await this.contents.ready();
    this.#contact.start();
  }

  async stop(): Promise<void> {
    const lists = this.#lists.map(([, cache]) => cache);
    this.#namedOperations.stop();
    await Promise.all([this.#contact, ...lists, this.contents].map((cache) => cache.stop()));
  }

  /** The kinds that it follows. */
  get #lists() {
    return this.#all.filter(([resource]) => this.#follows(resource));
  }

  /** What it does without: kinds of objects, and why it follows none of them. */
  get missing(): { resource: Resource; why: string }[] {
    return this.#all.flatMap(([resource, { missing }]) => {
      const why = this.#follows(resource) ? missing : OUT_OF_REACH;
      return why === null ? [] : [{ resource, why }];
    });
  }

  /** Whether this namespace is left to workers of its own: nothing in it is this worker's to do. */
  isLeft(namespace: string): boolean {
    return this.#claims.get(`${namespace}/${CLAIM_NAME}`) !== undefined;
  }

  get #all() {
    const { operations, schedules, vms, vmis, migrations, podBudgets, revisions, keptClaims, namespaces, nodes } = this;
    return [
      [KubeVirts, this.#strategy.list],
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
      [Leases, this.#claims],
      [VirtualMachineOperationSchedules, schedules],
    ] as const;
  }

  /**
   * Aborted when the API server is lost: the caches may then be long out of date. Replaced by a new signal once it is
   * back.
   */
  get lost(): AbortSignal {
    return this.#contact.lost;
  }

  /**
   * Makes sure that the next reads of these VMs and their VMIs, given by `namespace/name`, return what the API server
   * has now. Throws if it does not answer.
   */
  confirm(keys: readonly string[]): Promise<void> {
    return confirm(this.#client, this, keys, CONTACT_DEADLINE_MS);
  }

  /** The caches that decisions need, by the plural name of their resource. */
  get caches(): Record<string, Cache> {
    return Object.fromEntries(this.#lists.map(([{ plural }, cache]) => [plural, cache]));
  }

  /** Returns the VMIs that this set of VMIs owns, with what is known from their nodes. */
  vmisOf(set: Identity): VmiView[] {
    return this.vmis.ownedBy('VirtualMachineInstanceReplicaSet', set).map((vmi) => this.#around(vmi));
  }

  /** Returns the VMIs of a namespace that no controller owns, with what is known from their nodes. */
  uncontrolledVmisIn(namespace: string): VmiView[] {
    return this.vmis.uncontrolledIn(namespace).map((vmi) => this.#around(vmi));
  }

  /** Returns the VM's own VMI, and not one left behind by an earlier VM of the same name. */
  vmiOf(vm: Pick<VmView, 'namespace' | 'name' | 'uid'>): VmiView | undefined {
    const vmi = this.vmis.get(`${vm.namespace}/${vm.name}`);
    return vmi?.vmUid === vm.uid ? this.#around(vmi) : undefined;
  }

  /**
   * Returns a VM, as the API server has it, without operations that nobody asks for any more, and with the role that
   * its pool's record told when this worker last saw it.
   */
  vmView(vm: Stored<VirtualMachine>): VmView {
    return this.#namedOperations.current(withKnownRole(this.pools, vmView(vm)));
  }

  /** Returns a VMI, as the API server has it, with what only other objects tell of it: its node and its migrations. */
  withSurroundings(vmi: VmiView): VmiView {
    return this.#around(this.#namedOperations.current(vmi));
  }

  #around(vmi: VmiView): VmiView {
    return this.nodes.withNode(this.migrations.withMigrations(vmi));
  }

  /** Returns the PodDisruptionBudget with the name that the pool gives its own, whoever owns it. */
  podBudgetOf(namespace: string, pool: string): PodBudgetView | undefined {
    return this.podBudgets.get(`${namespace}/${podBudgetName(pool)}`) ?? undefined;
  }

  /** Returns what KubeVirt does when a running VM's template changes. */
  rolloutStrategy(): VmRolloutStrategy {
    return this.#strategy.current;
  }

  /** Returns what KubeVirt plugs into VMIs that run, and whether it migrates them for that. */
  kubevirtPlugs(): KubeVirtPlugs {
    return this.#strategy.plugs;
  }

  /**
   * Reports whether a VMI of this name exists that this set of VMIs does not own, or a VM, whose VMI would have that
   * name.
   */
  isVmiNameTaken(set: Identity, name: string): boolean {
    return (
      this.vms.get(`${set.namespace}/${name}`) !== undefined ||
      this.vmis.isNameTaken('VirtualMachineInstanceReplicaSet', set, name)
    );
  }

  /** Returns the resource versions that these caches have reached: whatever is read from them now is not older. */
  versionsOf(...kinds: (keyof ResourceVersions)[]): ResourceVersions {
    const versionOf = (kind: keyof ResourceVersions): bigint =>
      kind === 'nodes' || kind === 'migrations' ? this.#changedAt[kind] : this[kind].version;
    return Object.fromEntries(kinds.map((kind) => [kind, String(versionOf(kind))]));
  }

  /**
   * Makes sure that what is read next is whole, and not older than `minVersions`, and returns the versions that have
   * been reached.
   */
  async catchUp(minVersions: ResourceVersions): Promise<ResourceVersions> {
    const wanted = new Map<unknown, string | undefined>(VERSIONED.map((kind) => [this[kind], minVersions[kind]]));
    await Promise.all(this.#lists.map(([, cache]) => cache.catchUp(BigInt(wanted.get(cache) ?? 0), CATCH_UP_MS)));
    return this.versionsOf(...VERSIONED);
  }

  subscribe(listener: (change: CacheChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #ask({ client, namespace, onRestored }: ClusterCacheOptions): Promise<void> {
    const versions = VERSIONED.flatMap((kind) => (this[kind].synced ? [this[kind].version] : []));
    const seen = versions.reduce((one, other) => (one > other ? one : other), 0n);
    if (!(await wasRestored(client, namespace, { seen, deadlineMs: CONTACT_DEADLINE_MS }))) return;
    onRestored?.();
    for (const [, cache] of this.#lists) cache.restart();
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
