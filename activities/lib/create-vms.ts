import { cancellationSignal, log } from '@temporalio/activity';
import { controllerOf } from '../../api/objects.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { NewMember } from '../../decisions/template/vm-from-template.ts';
import type { StoredVmOwner } from '../../decisions/views/vm-owner.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isAlreadyExists } from '../../kubernetes/errors.ts';
import { liveOwner } from '../pool/live-pool.ts';
import type { Done, OwnerKey } from '../pool/types.ts';
import { recordEvent } from './events.ts';
import { liveMember } from './live-vm.ts';
import { kindOfOwner, memberVersions, versionsOf } from './owners.ts';
import { sharedCall } from './shared-call.ts';
import { tryEach } from './try-each.ts';

/** Calls that may hit a quota which has just filled up. */
const INITIAL_CONCURRENCY = 16;

export interface CreationGoal<Item> {
  client: KubeClient;
  key: OwnerKey;
  /** The owner as a cache has it, for Events. */
  owner: StoredVmOwner;
  items: readonly Item[];
  /** Concurrent calls to the API server. */
  concurrency: number;
  /** Whether the last creations went well: otherwise only one call hits a full quota. */
  skipSlowStart: boolean;
  /** Asked right before each creation, of the owner as it is then; `made`: names that are made, or being made. */
  whyNotMake: (item: Item, now: StoredVmOwner | undefined, made: ReadonlySet<string>) => string | null;
  /** Called once the VM is known to be wanted; may throw. */
  vmOf: (item: Item) => NewMember | Promise<NewMember>;
}

/**
 * Creates VMs, each only while its owner still wants it, and records that as Events. A VM that already exists and is
 * the owner's counts as done.
 */
export async function createEach<Item extends { name: string }>(goal: CreationGoal<Item>): Promise<Done> {
  const { items, concurrency: most, skipSlowStart } = goal;
  const creation = new Creation(goal);
  const atFirst = skipSlowStart ? INITIAL_CONCURRENCY : 1;
  const { count, refused } = await tryEach(items, (item) => creation.create(item), { most, atFirst });
  const { created, taken, notWanted, seen } = creation;
  await report(goal, { count, refused, created });
  if (taken.length > 0) log.info('skipping names of VMs that the owner does not control', { taken });
  if (notWanted.length > 0) log.info('VMs are no longer wanted and are not created', { notWanted });
  return { count: count - notWanted.length, taken, notWanted, refused, seen };
}

async function report(
  { client, key, owner, items }: Pick<CreationGoal<{ name: string }>, 'client' | 'key' | 'owner' | 'items'>,
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
  readonly #goal: CreationGoal<Item>;
  readonly #ownerNow: () => Promise<StoredVmOwner | undefined>;
  /** Names of VMs that are being created, or were. */
  readonly #made = new Set<string>();
  readonly created: string[] = [];
  /** Names that other VMs have. */
  readonly taken: string[] = [];
  readonly notWanted: string[] = [];
  /** What a cache must have reached to show the new VMs. */
  seen: ResourceVersions = {};

  constructor(goal: CreationGoal<Item>) {
    const { client, key } = goal;
    this.#goal = goal;
    this.#ownerNow = sharedCall(() => liveOwner(client, key, cancellationSignal()));
  }

  async create(item: Item): Promise<void> {
    const { client, key, whyNotMake } = this.#goal;
    const { name } = item;
    const owner = await this.#ownerNow();
    this.#saw(versionsOf(key, owner?.metadata.resourceVersion));
    // No pause between the two: VMs that are created at once count each other.
    if (whyNotMake(item, owner, this.#made) !== null) return void this.notWanted.push(name);
    this.#made.add(name);
    try {
      await this.#write(item);
    } catch (error) {
      this.#made.delete(name);
      if (!isAlreadyExists(error)) throw error;
      const other = await liveMember(client, key, { namespace: key.namespace, name });
      this.#saw(memberVersions(key, other?.metadata.resourceVersion));
      if (other !== undefined && controllerOf(other)?.uid !== key.uid) this.taken.push(name);
    }
  }

  async #write(item: Item): Promise<void> {
    const { client, key, vmOf } = this.#goal;
    const { resource } = kindOfOwner(key).members;
    const stored = await client.create(resource, await vmOf(item), { signal: cancellationSignal() });
    this.#saw(memberVersions(key, stored.metadata.resourceVersion));
    this.created.push(item.name);
  }

  #saw(versions: ResourceVersions): void {
    this.seen = maxVersions(this.seen, versions);
  }
}
