/** What drover keeps of a migration by which it moves a VM off its node. */
export interface MigrationView {
  namespace: string;
  name: string;
  resourceVersion: string;
  /** Name of the pool whose VM it moves. */
  pool: string;
  /** UID of the VMI that it moves. */
  vmiUid: string;
  /** Which migration of this VMI by drover it is, counted from 1. */
  attempt: number;
  state: 'Unfinished' | 'Succeeded' | 'Failed';
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** When it ended, in milliseconds since the epoch; null while it is unfinished, or if KubeVirt doesn't say. */
  endedAt: number | null;
  /** Why it failed, in KubeVirt's words; null if it has not, or KubeVirt gives none. */
  whyFailed: string | null;
}
