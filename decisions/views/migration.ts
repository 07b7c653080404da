/** What drover keeps of a migration by which it moves a VM: off its node, into a new pod, or for an operation. */
export interface MigrationView {
  namespace: string;
  name: string;
  resourceVersion: string;
  /** Name of the pool whose VM it moves; null for a VM that is in no pool. */
  pool: string | null;
  /** UID of the VMI that it moves. */
  vmiUid: string;
  /** Which migration of this VMI by drover it is, counted from 1. */
  attempt: number;
  state: 'Unfinished' | 'Succeeded' | 'Failed';
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** When KubeVirt began it, in milliseconds since the epoch; null while KubeVirt has others to do first. */
  begunAt: number | null;
  /** When it ended, in milliseconds since the epoch; null while it is unfinished, or if KubeVirt doesn't say. */
  endedAt: number | null;
  /** It failed though its target was ready and it was not aborted: the next one may fail in the same way. */
  failedToMove: boolean;
  /** Why it failed, in KubeVirt's words; null if it has not, or KubeVirt gives none. */
  whyFailed: string | null;
  /** What those before it came to. */
  earlier: EarlierMigrations;
}

/** What drover's migrations of one VMI came to, in a row, without moving it. */
export interface EarlierMigrations {
  /** How many have ended. */
  ended: number;
  /** How many of these have failed to move it. */
  failures: number;
  /** When KubeVirt began the first of them, in milliseconds since the epoch; null if it has begun none. */
  since: number | null;
}

export const NO_EARLIER_MIGRATIONS: EarlierMigrations = { ended: 0, failures: 0, since: null };

/** A migration of whatever maker that has not ended. */
export interface MigrationInFlight {
  namespace: string;
  name: string;
  vmiName: string;
  /** KubeVirt's `status.phase`; `Pending` before it has one. */
  phase: string;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** When KubeVirt began the migration, in milliseconds since the epoch; absent if KubeVirt has not begun it. */
  begunAt?: number;
  /** A ResourceQuota rejects the pod that the VMI would migrate to. */
  overQuota?: true;
}
