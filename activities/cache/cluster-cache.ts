import { CLAIM_NAME } from '../../api/claims/claim.ts';
import type { Stored } from '../../api/objects.ts';
import type { Identity } from '../../api/owner-references.ts';
import type { VmRolloutStrategy } from '../../api/pool/pool.ts';
import { isInNamespace } from '../../api/resources.ts';
import { vmView, type VirtualMachine } from '../../decisions/from-object/vm.ts';
import { pick } from '../../decisions/lib/json.ts';
import { maxVersions, VERSIONED, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { withoutEnded } from '../../decisions/views/annotations/protection.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeVirtPlugs } from '../../decisions/vm-update/disruption.ts';
import { ApiServerContact } from '../../kubernetes/api-server-contact.ts';
import type { Part } from '../../kubernetes/lib/parts.ts';
import { confirm, wasRestored } from './confirm.ts';
import { FollowedObjects, type FollowedOptions } from './followed-objects.ts';
import { withKnownRole } from './objects/known-roles.ts';

/** How long a decision waits for the watch to catch up before it relists. */
const CATCH_UP_MS = 2_000;
/** For small requests: an answer that takes longer is worth no more than none. */
const CONTACT_DEADLINE_MS = 5_000;

/** What a caller of `catchUp` is about to read: by default everything. */
interface Wanted {
  namespace?: string | undefined;
  /** Only the VMs and VMIs of the namespace with these names. */
  names?: readonly string[];
  /** Whether objects of other kinds have these versions, so that perhaps no event will show them. */
  areOfOthers?: boolean;
}

/** So many objects are listed one by one rather than with all of their namespace. */
const FEW = 16;

interface ClusterCacheOptions extends FollowedOptions {
  /** Which namespaces are this worker's to act in, if not all: those of its shards. */
  takes?: ((namespace: string) => boolean) | undefined;
  /** Called when the API server stops answering, and when it answers again. */
  onContact?: (isLost: boolean) => void;
  /** Called when the API server turns out to have been restored from a backup: all is listed anew. */
  onRestored?: () => void;
}

/**
 * One worker's cache of a cluster, or of one of its namespaces, which follows the API server, and knows how far it has
 * come.
 */
export class ClusterCache extends FollowedObjects {
  readonly #options: ClusterCacheOptions;
  readonly #contact: ApiServerContact;
  #restores = 0;

  constructor(options: ClusterCacheOptions) {
    super(options);
    this.#options = options;
    this.#contact = new ApiServerContact({
      probe: () => this.noticeRestore(),
      behindMs: () => Math.max(...Object.values(this.caches).map(({ behindMs }) => behindMs)),
      onChange: options.onContact,
      onRegained: () => this.lists.forEach(([, cache]) => cache.reconnect()),
    });
  }

  /** Resolves once all first lists are in the caches. */
  async start(): Promise<void> {
    await Promise.all(this.lists.map(([, cache]) => cache.start().ready()));
    await this.contents.ready();
    this.#contact.start();
  }

  async stop(): Promise<void> {
    const lists = this.lists.map(([, cache]) => cache);
    this.namedOperations.stop();
    await Promise.all([this.#contact, ...lists, this.contents].map((cache) => cache.stop()));
  }

  /** Whether only some namespaces are known: of what selects VMs of the whole cluster, the rest would look absent. */
  get isPartial(): boolean {
    return this.#options.keeps !== undefined;
  }

  /** Whether this namespace is left to other workers: nothing in it is this worker's to do. */
  isDelegated(namespace: string): boolean {
    const { namespace: own, takes } = this.#options;
    if (own !== undefined) return namespace !== own;
    if (takes?.(namespace) === false) return true;
    return this.claims.get(`${namespace}/${CLAIM_NAME}`) !== undefined;
  }

  /** The namespaces that are left to their own workers. */
  get delegated(): string[] {
    return [...new Set(this.claims.values())].filter((namespace) => this.isDelegated(namespace)).toSorted();
  }

  /**
   * Aborted when the API server is lost: the caches may then be long out of date. Replaced by a new signal once it is
   * back.
   */
  get lost(): AbortSignal {
    return this.#contact.lost;
  }

  /**
   * Resolves to true once the API server answers, if that is in doubt, and to false if it is lost. When requests get
   * through again after a cut-off, watch events from before may still be on their way.
   */
  follows(): Promise<boolean> {
    return this.#contact.answers();
  }

  /**
   * Makes sure that the next reads of these VMs and their VMIs, given by `namespace/name`, return what the API server
   * has now. Throws if it does not answer.
   */
  confirm(keys: readonly string[]): Promise<void> {
    return confirm(this.#options.client, this, keys, CONTACT_DEADLINE_MS);
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
   * Returns a VM, as the API server has it, without operations that no longer exist, and with its role in the pool's
   * record as this worker last saw it.
   */
  vmView(vm: Stored<VirtualMachine>): VmView {
    return withoutEnded(this.namedOperations.current('vm', withKnownRole(this.pools, vmView(vm))), Date.now());
  }

  /** Returns a VMI, as the API server has it, with what only other objects show: its node and its migrations. */
  withSurroundings(vmi: VmiView): VmiView {
    return this.#around(this.namedOperations.current('vmi', vmi));
  }

  #around(vmi: VmiView): VmiView {
    return this.nodes.withNode(this.migrations.withMigrations(vmi));
  }

  /** Returns what KubeVirt does when a running VM's template changes. */
  rolloutStrategy(): VmRolloutStrategy {
    return this.strategy.known.strategy;
  }

  /** Returns what KubeVirt plugs into VMIs that run, and whether it migrates them for that. */
  kubevirtPlugs(): KubeVirtPlugs {
    return this.strategy.known.plugs;
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

  /**
   * Makes sure that what is read next is whole, and not older than `minVersions`, and returns the versions that have
   * been reached: all of it, or what is in a namespace. If the watch is late, only that is listed.
   */
  async catchUp(minVersions: ResourceVersions, wanted: Wanted = {}): Promise<ResourceVersions> {
    const { namespace, names = [], areOfOthers = false } = wanted;
    const versions = new Map<unknown, string | undefined>(VERSIONED.map((kind) => [this[kind], minVersions[kind]]));
    const how = areOfOthers ? 'catchUpWithOther' : 'catchUp';
    const all = namespace === undefined ? undefined : { namespace };
    const ofNames = all && names.length > 0 && names.length <= FEW ? names.map((name) => ({ ...all, name })) : [all];
    await Promise.all(
      this.lists.flatMap(([resource, cache]) => {
        const own = cache === this.vms || cache === this.vmis ? ofNames : [all];
        const parts = isInNamespace(resource) ? own : [undefined];
        return parts.map((part) => cache[how](BigInt(versions.get(cache) ?? 0), CATCH_UP_MS, part));
      }),
    );
    return this.#reached(minVersions, namespace, ofNames);
  }

  #reached(
    minVersions: ResourceVersions,
    namespace: string | undefined,
    parts: readonly (Part | undefined)[],
  ): ResourceVersions {
    const reached = VERSIONED.filter((kind) => {
      const version = minVersions[kind];
      return version !== undefined && parts.every((part) => this[kind].hasReached(BigInt(version), part));
    });
    return maxVersions(this.versionsIn(namespace, ...VERSIONED), pick(minVersions, reached));
  }

  /** How often the API server was seen to be restored from a backup: what was read before that no longer holds. */
  get restores(): number {
    return this.#restores;
  }

  /** Asks whether the API server was restored from a backup: watches don't tell. Throws if it does not answer. */
  async noticeRestore(): Promise<void> {
    const { client, namespace, onRestored } = this.#options;
    const versions = VERSIONED.flatMap((kind) => (this[kind].synced ? [this[kind].version] : []));
    const seen = versions.reduce((a, b) => (a > b ? a : b), 0n);
    const restores = this.#restores;
    const isRestored = await wasRestored(client, namespace, { seen, deadlineMs: CONTACT_DEADLINE_MS });
    if (!isRestored || restores !== this.#restores) return;
    this.#restores++;
    onRestored?.();
    this.beginAnew();
  }
}
