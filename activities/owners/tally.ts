import type { Stored } from '../../api/objects.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { Member } from '../../decisions/owners/steps.ts';
import type { StoredVmOwner } from '../../decisions/views/owner.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreStale } from '../../kubernetes/errors.ts';
import { whileFresh, type LastCheck } from '../../kubernetes/retry.ts';
import { recordEvent } from '../lib/events.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { sharedCall } from '../lib/shared-call.ts';
import type { Done } from './done.ts';
import { kindOfOwner, memberVersions, versionsOf } from './kinds.ts';
import { liveOwner } from './live-owner.ts';
import { liveMember } from './live-vm.ts';
import type { OwnerKey } from './owner-key.ts';
import { tryEach, type Acted, type TryEachOptions } from './try-each.ts';

/** The words of Events about what was done to members, and what was not. */
const VERBS = {
  Create: { action: 'ScaleOut', done: 'Created', undone: 'created' },
  Promote: { action: 'ScaleOut', done: 'Promoted', undone: 'promoted' },
  Adopt: { action: 'Adopt', done: 'Adopted', undone: 'adopted' },
  Delete: { action: 'ScaleIn', done: 'Deleted', undone: 'done' },
  Halt: { action: 'ScaleIn', done: 'Halted, to keep the disks of', undone: 'done' },
  Release: {
    action: 'Release',
    done: 'Released, since their labels no longer match the selector,',
    undone: 'done',
  },
  Detach: { action: 'ChangeMembers', done: 'Detached', undone: 'detached' },
} as const;

interface Seen {
  metadata: { resourceVersion?: string };
}

/** What a member is given, as in a merge patch. */
interface MemberChange {
  labels?: object;
  annotations?: object;
  finalizers?: readonly string[];
  ownerReferences?: readonly object[];
  /** What is to change in its spec. */
  spec?: object;
}

/** What one activity does to members of a pool or a set, one by one. */
export class Tally {
  readonly client: KubeClient;
  readonly key: OwnerKey;
  /** Names of the items that were acted on. */
  readonly acted: string[] = [];
  /** Names of items for which the owner no longer wanted the act when checked again. */
  readonly notWanted: string[] = [];
  /** Names that other objects have. */
  readonly nameConflicts: string[] = [];
  #items: readonly { name: string }[] = [];
  #result: Pick<Done, 'count' | 'refused'> = { count: 0, refused: null };
  /** What a later plan must have seen: with an older cache, it would have the same done again, without a pause. */
  #minVersions: ResourceVersions = {};

  /** Returns the owner as it is after this call. */
  readonly ownerNow = sharedCall(async () => {
    const owner = await liveOwner(this.client, this.key);
    this.saw(versionsOf(this.key, owner?.metadata.resourceVersion));
    return owner;
  });

  constructor(client: KubeClient, key: OwnerKey) {
    this.client = client;
    this.key = key;
  }

  async each<T extends { name: string }>(
    items: readonly T[],
    act: (item: T) => Promise<Acted>,
    options: TryEachOptions,
  ): Promise<void> {
    this.#items = items;
    this.#result = await tryEach(items, act, options);
  }

  saw(versions: ResourceVersions): void {
    this.#minVersions = maxVersions(this.#minVersions, versions);
  }

  sawMember(member: Seen | undefined): void {
    this.saw(memberVersions(this.key, member?.metadata.resourceVersion));
  }

  /**
   * Patches the metadata of a member, or of what is to be one, as it is now, and its `spec`: `changeOf` says how, and
   * null if it is to be left. It is left, too, if it changes meanwhile.
   */
  async patch(
    target: Member,
    changeOf: (owner: StoredVmOwner, member: Stored) => MemberChange | null | Promise<MemberChange | null>,
  ): Promise<Acted> {
    return whileFresh((lastCheck) => this.#patch(target, changeOf, lastCheck));
  }

  async #patch({ name, uid }: Member, changeOf: Parameters<Tally['patch']>[1], lastCheck: LastCheck): Promise<Acted> {
    const { client, key } = this;
    const at = { namespace: key.namespace, name };
    const owner = await this.ownerNow();
    const member = owner && (await liveMember(client, key, at));
    this.sawMember(member);
    if (owner === undefined || member?.metadata.uid !== uid) return 'skipped';
    const change = await changeOf(owner, member);
    if (change === null) return 'skipped';
    const { spec, ...metadata } = change;
    const patch = {
      metadata: { ...metadata, resourceVersion: member.metadata.resourceVersion },
      ...(spec === undefined ? {} : { spec }),
    };
    const { resource } = kindOfOwner(key).members;
    const written = await ignoreStale(patchKept(client, resource, at, patch, { lastCheck }));
    this.sawMember(written);
    if (written === undefined) return 'skipped';
    this.acted.push(name);
    return 'done';
  }

  /** Records Events on the owner: what was done to which, and what was refused. `more`: words after the names. */
  async report(verb: keyof typeof VERBS, more = ''): Promise<void> {
    const { client, key } = this;
    const { count, refused } = this.#result;
    const { action, done, undone } = VERBS[verb];
    if (this.acted.length > 0) {
      const note = `${done} ${formatNames(this.acted)}${more}`;
      await recordEvent(client, key, { type: 'Normal', reason: `Successful${verb}`, action, note });
    }
    if (refused !== null) {
      const names = formatNames(this.#items.map(({ name }) => name));
      const note = `${this.#items.length - count} of ${names} not ${undone}: ${refused.message}`;
      await recordEvent(client, key, { type: 'Warning', reason: `Failed${verb}`, action, note });
    }
  }

  done(): Done {
    const { nameConflicts, notWanted } = this;
    return { ...this.#result, nameConflicts, notWanted, minVersions: this.#minVersions };
  }
}
