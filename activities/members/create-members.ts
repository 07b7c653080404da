import { log } from '@temporalio/activity';
import type { Stored } from '../../api/objects.ts';
import { isControlledBy } from '../../api/owner-references.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { NewMember } from '../../decisions/template/vm-from-template.ts';
import type { StoredVmOwner } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isAlreadyExists } from '../../kubernetes/errors.ts';
import type { SpecWriter } from '../disks/spec-writer.ts';
import { recordEvent } from '../lib/events.ts';
import { sharedCall } from '../lib/shared-call.ts';
import type { Done } from '../owners/done.ts';
import { kindOfOwner, memberVersions, versionsOf } from '../owners/kinds.ts';
import { liveOwner } from '../owners/live-owner.ts';
import { liveMember } from '../owners/live-vm.ts';
import type { OwnerKey } from '../owners/owner-key.ts';
import { tryEach, type Acted } from '../owners/try-each.ts';

/** Calls that may hit a quota which has just filled up. */
const INITIAL_CONCURRENCY = 16;

interface CreationTarget<Item> {
  client: KubeClient;
  key: OwnerKey;
  /** The owner as a cache has it, for Events. */
  owner: StoredVmOwner;
  writer: SpecWriter;
  items: readonly Item[];
  /** Concurrent calls to the API server. */
  concurrency: number;
  /** Whether the last creations went well: otherwise only one call hits a full quota. */
  skipSlowStart: boolean;
  /** Asked right before each creation, of the owner as it is then; `made`: names that are made, or being made. */
  creationBlockedBy: (item: Item, now: StoredVmOwner | undefined, made: ReadonlySet<string>) => string | null;
  /** Called once the VM is known to be wanted; may throw. */
  vmOf: (item: Item) => NewMember | Promise<NewMember>;
  /** Told of each VM that was made now, or that there was already (`isNew` is false), and is the owner's. */
  onMade?: (vm: Stored, isNew: boolean) => void;
}

/**
 * Creates VMs, each only while its owner still wants it, and records that as Events. A VM that already exists and is
 * the owner's counts as done.
 */
export async function createEach<Item extends { name: string }>(target: CreationTarget<Item>): Promise<Done> {
  const { items, concurrency: most, skipSlowStart } = target;
  const creation = new Creation(target);
  const atFirst = skipSlowStart ? INITIAL_CONCURRENCY : 1;
  const { count, refused } = await tryEach(items, (item) => creation.create(item), { most, atFirst });
  const { created, nameConflicts, notWanted, minVersions } = creation;
  await report(target, { count, refused, created });
  if (nameConflicts.length > 0) log.info('skipping names of VMs that the owner does not control', { nameConflicts });
  if (notWanted.length > 0) log.info('VMs are no longer wanted and are not created', { notWanted });
  return { count, nameConflicts, notWanted, refused, minVersions };
}

async function report(
  { client, key, owner, items }: Pick<CreationTarget<{ name: string }>, 'client' | 'key' | 'owner' | 'items'>,
  { count, refused, created }: Pick<Done, 'count' | 'refused'> & { created: string[] },
): Promise<void> {
  const action = 'ScaleOut';
  if (created.length > 0) {
    const note = `Created ${formatNames(created)}`;
    await recordEvent(client, owner, { type: 'Normal', reason: 'SuccessfulCreate', action, note }, key.kind);
  }
  if (refused !== null) {
    const names = formatNames(items.map(({ name }) => name));
    const note = `${items.length - count} of ${names} not created: ${refused.message}`;
    await recordEvent(client, owner, { type: 'Warning', reason: 'FailedCreate', action, note }, key.kind);
  }
}

/** Creates VMs one by one, each only while its owner, read again, still wants it. */
class Creation<Item extends { name: string }> {
  readonly #target: CreationTarget<Item>;
  readonly #ownerNow: () => Promise<StoredVmOwner | undefined>;
  /** Names of VMs that are being created, or were. */
  readonly #made = new Set<string>();
  readonly created: string[] = [];
  /** Names that other VMs have. */
  readonly nameConflicts: string[] = [];
  readonly notWanted: string[] = [];
  /** What a cache must have reached to show the new VMs. */
  minVersions: ResourceVersions = {};

  constructor(target: CreationTarget<Item>) {
    const { client, key } = target;
    this.#target = target;
    this.#ownerNow = sharedCall(() => liveOwner(client, key));
  }

  async create(item: Item): Promise<Acted> {
    const { client, key, creationBlockedBy, onMade } = this.#target;
    const { name } = item;
    const owner = await this.#ownerNow();
    this.#saw(versionsOf(key, owner?.metadata.resourceVersion));
    // No pause between the two: VMs that are created at once count each other.
    if (creationBlockedBy(item, owner, this.#made) !== null) {
      this.notWanted.push(name);
      return 'left';
    }
    this.#made.add(name);
    try {
      await this.#write(item);
      return 'done';
    } catch (error) {
      this.#made.delete(name);
      if (!isAlreadyExists(error)) throw error;
      const other = await liveMember(client, key, { namespace: key.namespace, name });
      this.#saw(memberVersions(key, other?.metadata.resourceVersion));
      if (other === undefined) return 'done';
      if (isControlledBy(other, kindOfOwner(key).resource, key)) {
        onMade?.(other, false);
        return 'done';
      }
      this.nameConflicts.push(name);
      return 'left';
    }
  }

  async #write(item: Item): Promise<void> {
    const { key, owner, vmOf, writer, onMade } = this.#target;
    const pool = key.kind === undefined ? (owner as StoredPool) : null;
    const stored = await writer.create(kindOfOwner(key).members.resource, await vmOf(item), pool);
    this.#saw(memberVersions(key, stored.metadata.resourceVersion));
    this.created.push(item.name);
    onMade?.(stored, true);
  }

  #saw(versions: ResourceVersions): void {
    this.minVersions = maxVersions(this.minVersions, versions);
  }
}
