import type { OwnerKey } from '../../activities/owners/owner-key.ts';
import type { KnownStatus, StatusRequest } from '../../activities/owners/status.ts';
import type { VmOwnerKind } from '../../api/owner-kinds.ts';
import type { Act } from '../../decisions/history/act.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { OwnerEvent } from '../../decisions/owners/events.ts';
import type { Backoffs, Failure } from '../../decisions/owners/failures.ts';
import type { PoolPlan } from '../../decisions/pool/plan.ts';
import type { FailureBackoffState } from './failure-backoff.ts';

/** What the query `progress` of pools and sets answers, for Temporal's Web UI. */
export const OWNER_PROGRESS = 'What is in progress, and what went wrong last: `drover status` shows it.';

/** The owner that a run is of. */
export interface OwnerOfRun {
  kind: VmOwnerKind;
  /** Summary of a wait for a time that the plan has named. */
  wait: string;
}

/** State carried over continue-as-new, for all kinds of owners. */
export interface CarriedOwner {
  uid?: string;
  minVersions: ResourceVersions;
  failureBackoff: FailureBackoffState;
  resultUnknown: boolean;
  /** Writes of the newest status that was seen or written; absent before the first. */
  writes?: number;
  /** Of the last spec that was planned for: another one has all tried again that waits after a failure. */
  generation?: number;
  /** How many members the last spec wanted that was planned for. */
  wanted?: number;
  acts: Act[];
}

/** What every plan is asked with. */
export interface OwnerRequest extends StatusRequest {
  namespace: string;
  name: string;
  minVersions: ResourceVersions;
  resultUnknown: boolean;
  inProgress: { creating: string[]; deleting: string[] };
  backoffs: Backoffs;
  writes?: number;
}

/** What every plan says. */
export interface PlannedOwner extends KnownStatus {
  gone: false;
  key: OwnerKey;
  generation: number;
  failures: Failure[];
  phase: PoolPlan['phase'];
  counts: Pick<PoolPlan['counts'], 'present' | 'wanted'>;
  requeueAt: number | null;
  /** Events about what its status says that the stored one does not. */
  events?: OwnerEvent[];
}
