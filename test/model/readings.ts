import { asyncLocalStorage } from '@temporalio/activity';
import { OWNER_KINDS } from '../../api/owner-kinds.ts';
import type { Resource } from '../../api/resources.ts';
import type { Call } from './world/model-client.ts';
import type { World } from './world/world.ts';

const OWNERS: readonly (Resource | null)[] = Object.values(OWNER_KINDS).map(({ resource }) => resource);

/** When each attempt of an activity last read a pool or a set from the API server, in milliseconds. */
export class Readings {
  readonly #world: World;
  readonly #times = new WeakMap<object, Map<string, number>>();

  constructor(world: World) {
    this.#world = world;
  }

  note({ verb, resource, key, process }: Call): void {
    const context = asyncLocalStorage.getStore();
    if (context === undefined || verb !== 'get' || !OWNERS.includes(resource)) return;
    const owner = this.#world.server.find(resource!, key as { name: string });
    if (owner === undefined || !process.name.startsWith('worker')) return;
    const times = this.#times.get(context) ?? new Map<string, number>();
    this.#times.set(context, times.set(owner.metadata.uid, this.#world.time.now));
  }

  /** Returns when the attempt that runs now has read the owner with this UID; undefined if it has not. */
  of(uid: string): number | undefined {
    const context = asyncLocalStorage.getStore();
    return context === undefined ? undefined : this.#times.get(context)?.get(uid);
  }
}
