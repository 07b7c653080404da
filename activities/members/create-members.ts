import { log } from '@temporalio/activity';
import type { Stored } from '../../api/objects.ts';
import { isControlledBy } from '../../api/owner-references.ts';
import type { NewMember } from '../../decisions/template/vm-from-template.ts';
import type { StoredVmOwner } from '../../decisions/views/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isAlreadyExists } from '../../kubernetes/errors.ts';
import type { SpecWriter } from '../disks/spec-writer.ts';
import type { Done } from '../owners/done.ts';
import { kindOfOwner } from '../owners/kinds.ts';
import { liveMember } from '../owners/live-vm.ts';
import type { OwnerKey } from '../owners/owner-key.ts';
import { Tally } from '../owners/tally.ts';
import type { Acted } from '../owners/try-each.ts';

/** Calls that may hit a quota which has just filled up. */
const INITIAL_CONCURRENCY = 16;

interface CreationTarget<Item> {
  client: KubeClient;
  key: OwnerKey;
  /** As a cache has it; null for a set. */
  pool: StoredPool | null;
  writer: SpecWriter;
  items: readonly Item[];
  /** Concurrent calls to the API server. */
  concurrency: number;
  /** Whether the last creations went well: otherwise only one call hits a full quota. */
  skipSlowStart: boolean;
  /** The members that hold places, as the cache has them. Asked again whenever the owner was read. */
  holders: (owner: StoredVmOwner | undefined) => readonly { name: string }[];
  /** Asked right before each creation, of the owner as it is then. `others`: how many other members hold places. */
  creationBlockedBy: (item: Item, now: StoredVmOwner | undefined, others: number) => string | null;
  /** Called once the VM is known to be wanted; may throw. */
  vmOf: (item: Item) => NewMember | Promise<NewMember>;
  /** Called for each VM of the owner that was made now, or existed already (`isNew` is false). */
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
  await creation.each(items, (item) => creation.create(item), { most, atFirst });
  await creation.report('Create');
  const { nameConflicts, notWanted } = creation;
  if (nameConflicts.length > 0) log.info('skipping names of VMs that the owner does not control', { nameConflicts });
  if (notWanted.length > 0) log.info('VMs are no longer wanted and are not created', { notWanted });
  return creation.done();
}

/** Creates VMs one by one, each only while its owner, read again, still wants it. */
class Creation<Item extends { name: string }> extends Tally {
  readonly #target: CreationTarget<Item>;
  /** Names of VMs that are being created, or were. */
  readonly #made = new Set<string>();
  #known: { owner: StoredVmOwner | undefined; names: ReadonlySet<string> } | undefined;

  constructor(target: CreationTarget<Item>) {
    super(target.client, target.key);
    this.#target = target;
  }

  async create(item: Item): Promise<Acted> {
    const { client, key } = this;
    const { creationBlockedBy, onMade } = this.#target;
    const { name } = item;
    const owner = await this.ownerNow();
    // No pause between the two: VMs that are created at once count each other.
    if (creationBlockedBy(item, owner, this.#othersOf(name, owner)) !== null) {
      this.notWanted.push(name);
      return 'skipped';
    }
    this.#made.add(name);
    try {
      await this.#write(item);
      return 'done';
    } catch (error) {
      this.#made.delete(name);
      if (!isAlreadyExists(error)) throw error;
      const other = await liveMember(client, key, { namespace: key.namespace, name });
      this.sawMember(other);
      if (other === undefined) return 'done';
      if (isControlledBy(other, kindOfOwner(key).resource, key)) {
        onMade?.(other, false);
        return 'done';
      }
      this.nameConflicts.push(name);
      return 'skipped';
    }
  }

  /** How many members hold places, without this one. */
  #othersOf(name: string, owner: StoredVmOwner | undefined): number {
    if (this.#known === undefined || this.#known.owner !== owner)
      this.#known = { owner, names: new Set(this.#target.holders(owner).map((one) => one.name)) };
    const { names } = this.#known;
    const made = [...this.#made].filter((one) => one !== name && !names.has(one));
    return names.size - (names.has(name) ? 1 : 0) + made.length;
  }

  async #write(item: Item): Promise<void> {
    const { pool, vmOf, writer, onMade } = this.#target;
    const stored = await writer.create(kindOfOwner(this.key).members.resource, await vmOf(item), pool);
    this.sawMember(stored);
    this.acted.push(item.name);
    onMade?.(stored, true);
  }
}
