import { conditionOf, type Stored } from '../../api/objects.ts';
import type { CheckStatus } from '../../api/pool/pool.ts';
import { defaultsOf, known, subjectOf } from '../../decisions/rollout/checks/check.ts';
import { pauserOf } from '../../decisions/rollout/state/state.ts';
import type { FailedVm } from '../../decisions/runs/progress.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { RevisionRecord } from './revisions.ts';

type Rollout = NonNullable<NonNullable<Pool['status']>['rollout']>;

/** `number` is null if the revision is not kept, or has not been looked up. */
export type NamedRevision = Pick<RevisionRecord, 'hash'> & { number: number | null };

/** State of a pool's rollout, from the pool's status; `-o json` prints it as is. */
export interface RolloutView {
  namespace: string;
  pool: string;
  /**
   * Reason of the condition `Progressing`; `Pending` until drover has observed the newest spec, `Deleting` while the
   * pool is being deleted.
   */
  phase: string;
  /**
   * How the rollout ended, if drover does nothing more by itself; null while it continues or waits. `Blocked`: it
   * continues if the VMs that hold it up come back, which may be never.
   */
  end: 'Complete' | 'Failed' | 'Blocked' | 'OutdatedVms' | null;
  message: string;
  /** Revision of the template; `current` is the last revision that all VMs had. */
  target: NamedRevision;
  current: NamedRevision | null;
  /** Who asked for the template, and why; null if that is not known. */
  requestedBy: string | null;
  reason: string | null;
  replicas: number;
  updatedReplicas: number;
  /** VMs that are ready, including extra VMs. */
  readyReplicas: number;
  /** Extra VMs, which stand in for others while these are updated; not counted in `replicas`. */
  surgeReplicas: number;
  /** Null if the pool has no steps, or its status has no rollout of the template. */
  step: { passed: number; of: number; reachedAt: string | null } | null;
  /** The check that it waits for, or that has ended it; null if there is none. */
  check: CheckView | null;
  paused: { by: string; at: string | null; reason: string | null } | null;
  halted: { kind: string; by: string; at: string; reason: string | null } | null;
  /** The newest last. */
  failures: FailedVm[];
  /** The newest Secret or ConfigMap for whose change VMs restart; null if they restart for none. */
  changed: { what: string; at: string } | null;
  batches: number;
  startedAt: string | null;
  completedAt: string | null;
}

/** The check of a step. Durations are written as in a pool. */
interface CheckView {
  /** What is looked at: a query, or a Job. */
  what: string;
  holdsFor: string;
  every: string;
  deadline: string;
  /** What has been seen of it; null if nothing has yet. */
  seen: CheckStatus | null;
}

/** The requester shown for a pause by the spec. */
export const BY_SPEC = 'spec.paused';

/** Ends of a rollout, by phase; in any other phase it continues. */
const ENDS: Record<string, Exclude<RolloutView['end'], null>> = {
  Complete: 'Complete',
  OutdatedPods: 'Complete',
  UpdateFailed: 'Failed',
  Failed: 'Failed',
  UndoFailed: 'Failed',
  Undone: 'Failed',
  Aborted: 'Failed',
  ProgressDeadlineExceeded: 'Blocked',
  Stuck: 'Blocked',
  OutdatedVms: 'OutdatedVms',
};

export function rolloutView(pool: Stored<Pool>, revisions: readonly RevisionRecord[] = []): RolloutView {
  const { metadata, spec, status } = pool;
  const target = revisionOf(poolTemplate(spec));
  const known: Partial<NonNullable<Pool['status']>> = status ?? {};
  const isSeen = (known.observedGeneration ?? 0) >= (metadata.generation ?? 0) && known.updateRevision === target;
  const numbered = (hash: string): NamedRevision => ({
    hash,
    number: revisions.find((one) => one.hash === hash)?.number ?? null,
  });
  const { phase, message } = phaseOf(pool, isSeen);
  // What is left from an older template's rollout says nothing about this one.
  const rollout = known.rollout?.revision === target ? known.rollout : undefined;
  return {
    namespace: metadata.namespace ?? '',
    pool: metadata.name,
    phase,
    end: ENDS[phase] ?? null,
    message,
    target: numbered(target),
    current: known.currentRevision === undefined ? null : numbered(known.currentRevision),
    ...originOf(revisions.find(({ hash }) => hash === target)),
    replicas: (known.replicas ?? 0) - (known.surgeReplicas ?? 0),
    updatedReplicas: isSeen ? (known.updatedReplicas ?? 0) : 0,
    readyReplicas: known.readyReplicas ?? 0,
    surgeReplicas: known.surgeReplicas ?? 0,
    step: stepOf(pool, rollout),
    check: checkOf(pool, rollout),
    paused: pauseOf(pool),
    ...historyOf(rollout),
  };
}

const originOf = (revision: RevisionRecord | undefined): Pick<RolloutView, 'requestedBy' | 'reason'> => ({
  requestedBy: revision?.requestedBy ?? null,
  reason: revision?.changeCause ?? null,
});

function historyOf(
  rollout: Rollout | undefined,
): Pick<RolloutView, 'halted' | 'failures' | 'changed' | 'batches' | 'startedAt' | 'completedAt'> {
  const { halted, failures = [], changed = null, batches = 0, startedAt = null, completedAt = null } = rollout ?? {};
  return {
    halted: halted === undefined ? null : { ...halted, reason: halted.reason ?? null },
    failures,
    changed,
    batches,
    startedAt,
    completedAt,
  };
}

function phaseOf(pool: Stored<Pool>, isSeen: boolean): Pick<RolloutView, 'phase' | 'message'> {
  if (pool.metadata.deletionTimestamp !== undefined)
    return { phase: 'Deleting', message: 'the pool is being deleted, and its VMs with it' };
  const progressing = isSeen ? conditionOf(pool.status, 'Progressing') : undefined;
  if (progressing === undefined) return { phase: 'Pending', message: 'drover has not looked at the newest spec yet' };
  return { phase: progressing.reason ?? 'Unknown', message: progressing.message ?? '' };
}

function stepOf({ spec }: Pool, rollout: Rollout | undefined): RolloutView['step'] {
  const of = spec.rollout?.steps?.length ?? 0;
  if (of === 0 || rollout === undefined) return null;
  return { passed: Math.min(rollout.step, of), of, reachedAt: rollout.stepReachedAt ?? null };
}

function checkOf({ spec, status }: Pool, rollout: Rollout | undefined): CheckView | null {
  const check = rollout && spec.rollout?.steps?.[rollout.step]?.then.check;
  const of = check === undefined ? null : subjectOf(check, rollout!);
  if (check === undefined || of === null || rollout?.completedAt !== undefined) return null;
  const found = known(status?.check, of);
  const { holdsFor, every, deadline } = { ...defaultsOf(check), ...check };
  const what = check.prometheus?.query ?? (found?.job === undefined ? 'by a Job' : `by Job ${found.job.name}`);
  return { what, holdsFor, every, deadline, seen: found };
}

/** A user's pause takes precedence over `spec.paused`: it says more. */
function pauseOf({ spec, status }: Pool): RolloutView['paused'] {
  const paused = status?.rollout?.paused;
  if (paused !== undefined) return { by: pauserOf(paused), at: paused.at, reason: paused.reason ?? null };
  if (spec.paused !== true) return null;
  const since = status?.conditions?.find(({ reason }) => reason === 'PausedBySpec')?.lastTransitionTime;
  return { by: BY_SPEC, at: since ?? null, reason: null };
}
