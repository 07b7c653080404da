import type { Client } from '@temporalio/client';
import type { OwnerKind } from '../../api/owner-kinds.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { CacheChange, ObjectChange } from '../cache/objects/cache-change.ts';

/**
 * Tells the workflow of an object by its key as `Watched` has it which versions it must see, and, if it may run on
 * another task queue than its own, into how many shards the cluster is divided.
 */
type Notify = (
  client: Client,
  object: { cluster: string; key: string },
  look: ResourceVersions & { shards?: number },
) => Promise<void>;

/** How the workflows of one kind hear of changes. */
export interface Signals {
  /** Sends `changed` to the workflow of an object, and starts the workflow if it isn't running. */
  notify: Notify;
  /** Does the same for a deleted object, but never starts its workflow. */
  signalDeleted: Notify;
  /** Returns which of these objects have no workflow that runs on their task queue, as Temporal lists them. */
  unmanaged: (client: Client, cluster: string, keys: readonly string[]) => Promise<string[]>;
}

/** Objects of one kind, by `namespace/name`, or by `operationKey`. */
export interface Watched {
  what: OwnerKind['noun'] | 'operation' | 'schedule';
  all: () => string[];
  exists: (key: string) => boolean;
  /** The objects that a change concerns. */
  affected: (change: CacheChange) => string[];
  /** The least time between two signals of it, in milliseconds. */
  leastMs: (key: string) => number;
  /** Whether its workflow would have something to do now. */
  isUnsettled: (key: string) => boolean;
  /** The resource versions that the plan triggered by a signal must have observed. */
  versions: (key: string) => ResourceVersions;
}

/** The same, without regard to claims of namespaces. */
export type WatchedObjects = Omit<Watched, 'affected'> & { affected: (change: ObjectChange) => string[] };
