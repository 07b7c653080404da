import { asyncLocalStorage } from '@temporalio/activity';
import { OWNER_KINDS } from '../../api/owner-kinds.ts';
import type { Resource } from '../../api/resources.ts';
import { isByWorker } from './facts.ts';
import type { ApiServer } from './world/api-server.ts';
import type { KubeVirt } from './world/kubevirt.ts';
import type { Call } from './world/model-client.ts';
import type { Run } from './world/temporal/run.ts';
import type { VirtualTime } from './world/virtual-time.ts';
import type { World } from './world/world.ts';

/** What guarantees are checked in: the world of the model, or what a soak sees of real servers. */
export interface Watched extends Pick<
  World,
  'break' | 'membersOf' | 'owner' | 'pool' | 'say' | 'vm' | 'vmi' | 'vms' | 'vmsOf'
> {
  readonly time: Pick<VirtualTime, 'now' | 'in'>;
  readonly server: Pick<ApiServer, 'all' | 'find'>;
  readonly temporal: { readonly runs: ReadonlyMap<string, Pick<Run, 'id' | 'type' | 'args' | 'isOpen' | 'status'>> };
  readonly kubevirt: Pick<KubeVirt, 'isDrained'>;
}

/** A soak checks real servers, which are slower than the model's: `test/soak/real-servers.ts` says so first. */
const isReal = process.env['DROVER_CHECKS_OF_REAL_SERVERS'] !== undefined;

/**
 * Milliseconds by which a worker's read may be outdated when a write based on it arrives: one call, and the wait for
 * its turn.
 */
export const CALL_MS = isReal ? 2_000 : 50;
/** Greatest delay of a watch, and of a call, in milliseconds. */
export const KNOWN_AFTER_MS = isReal ? 15_000 : 3_000;
/** Milliseconds without confirmation after which an attempt must not act any more. */
export const STALE_MS = isReal ? 20_000 : 10_000;

const OWNERS: readonly (Resource | null)[] = Object.values(OWNER_KINDS).map(({ resource }) => resource);

/** When each attempt of an activity last read a pool or a set from the API server, in milliseconds. */
export class Readings {
  readonly #world: Watched;
  readonly #times = new WeakMap<object, Map<string, number>>();

  constructor(world: Watched) {
    this.#world = world;
  }

  note(call: Call): void {
    const { verb, resource, key } = call;
    const context = asyncLocalStorage.getStore();
    if (context === undefined || verb !== 'get' || !OWNERS.includes(resource)) return;
    const owner = this.#world.server.find(resource!, key as { name: string });
    if (owner === undefined || !isByWorker(call)) return;
    const times = this.#times.get(context) ?? new Map<string, number>();
    this.#times.set(context, times.set(owner.metadata.uid, this.#world.time.now));
  }

  /** Returns when the attempt that runs now has read the owner with this UID; undefined if it has not. */
  of(uid: string): number | undefined {
    const context = asyncLocalStorage.getStore();
    return context === undefined ? undefined : this.#times.get(context)?.get(uid);
  }
}
