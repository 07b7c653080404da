import { controllerOf, withoutManagedFields, type Stored } from '../../api/objects.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import type { OwnerKind } from '../cli/kinds.ts';
import { byName, type Owner } from '../cli/owner.ts';
import type { Member } from './members.ts';

/** Which pools or replica sets are watched. */
export interface WatchedOwners {
  kind: OwnerKind;
  /** Undefined for all namespaces. */
  namespace: string | undefined;
  /** Empty for all objects of the kind. */
  names: string[];
  /** A label selector for the objects, not for their members. */
  selector?: string | undefined;
}

interface OwnerWatchOptions extends WatchedOwners {
  kube: KubeClient;
  /** Called with the UID of the object that something happened to. */
  onChange: (ownerUid: string) => void;
  onError: (error: Error) => void;
}

/** Watches objects of a kind and their members until it is stopped. */
export class OwnerWatch {
  readonly #options: OwnerWatchOptions;
  readonly #failed = Promise.withResolvers<never>();
  #started = false;
  readonly #owners: ListWatch<Stored<Owner>, Stored<Owner>>;
  readonly #members: ListWatch<Stored<Member>, Stored<Member>>;

  constructor(options: OwnerWatchOptions) {
    this.#options = options;
    const { kube: client, kind, namespace, selector, onChange } = options;
    const { resource, members } = kind;
    this.#owners = new ListWatch<Stored<Owner>, Stored<Owner>>({
      client,
      namespace,
      labelSelector: selector,
      resource,
      view: (owner) => owner,
      onChange: (_key, before, after) => onChange((after ?? before!).metadata.uid),
      onError: (error) => this.#fail(error),
    });
    this.#members = new ListWatch<Stored<Member>, Stored<Member>>({
      client,
      namespace,
      resource: members.resource,
      view: slim,
      onChange: (_key, before, after) => {
        const owner = controllerOf(after ?? before!);
        if (owner !== undefined) onChange(owner.uid);
      },
      onError: (error) => this.#fail(error),
    });
  }

  /**
   * Resolves once all existing objects are known. Throws if they can't be read. After that, broken watches are
   * restarted.
   */
  async start(): Promise<this> {
    try {
      await Promise.race([
        Promise.all([this.#owners.start().ready(), this.#members.start().ready()]),
        this.#failed.promise,
      ]);
    } catch (error) {
      await this.stop();
      throw error;
    }
    this.#started = true;
    return this;
  }

  owners(): Stored<Owner>[] {
    const { names } = this.#options;
    return [...this.#owners.values()]
      .filter(({ metadata }) => names.length === 0 || names.includes(metadata.name))
      .sort(byName);
  }

  members(): Stored<Member>[] {
    return [...this.#members.values()];
  }

  async stop(): Promise<void> {
    await Promise.all([this.#owners.stop(), this.#members.stop()]);
  }

  #fail(error: Error): void {
    if (this.#started) this.#options.onError(error);
    else this.#failed.reject(error);
  }
}

/** Drops a member's spec, which is most of it and isn't shown here. */
const slim = ({ spec: _spec, ...member }: Stored<Member>): Stored<Member> => withoutManagedFields(member);
