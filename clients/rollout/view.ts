import type { Stored } from '../../api/objects.ts';
import { poolTemplate } from '../../decisions/pool/template.ts';
import { revisionOf } from '../../decisions/revisions/hash.ts';
import type { Pool } from '../pools/objects.ts';
import type { Revision } from './revisions/revisions.ts';

type Rollout = NonNullable<NonNullable<Pool['status']>['rollout']>;

/** `number` is null for one that is not kept, or that nobody has looked up. */
export type NamedRevision = Pick<Revision, 'hash'> & { number: number | null };

/** How a pool's rollout stands, as its status tells it; `-o json` prints it as it is. */
export interface RolloutView {
  namespace: string;
  pool: string;
  /**
   * The reason of the condition `Progressing`; `Pending` until drover has looked at the newest spec, `Deleting` at the
   * end.
   */
  phase: string;
  /**
   * Whether drover does nothing more by itself, and how it ended; null while it goes on, or waits. `Blocked`: it goes
   * on if the VMs that hold it up come back, and nobody knows when.
   */
  end: 'Complete' | 'Failed' | 'Blocked' | 'LeftToOthers' | null;
  message: string;
  /** Revision of the template, and the last one that all VMs had. */
  target: NamedRevision;
  current: NamedRevision | null;
  replicas: number;
  updatedReplicas: number;
  readyReplicas: number;
  /** Null where the pool has no steps, or nothing is rolled out. */
  step: { passed: number; of: number; reachedAt: string | null } | null;
  paused: { by: string; at: string | null; why: string | null } | null;
  halted: { kind: string; by: string; at: string; why: string | null } | null;
  failures: { vm: string; why: string; at: string; wasDown: boolean }[];
  batches: number;
  startedAt: string | null;
  completedAt: string | null;
}

/** The phases of a rollout that is over. */
const ENDS: Record<string, Exclude<RolloutView['end'], null>> = {
  Complete: 'Complete',
  Failed: 'Failed',
  UndoFailed: 'Failed',
  Undone: 'Failed',
  Aborted: 'Failed',
  ProgressDeadlineExceeded: 'Blocked',
  LeftToOthers: 'LeftToOthers',
};

export function rolloutView(pool: Stored<Pool>, revisions: readonly Revision[] = []): RolloutView {
  const { metadata, spec, status } = pool;
  const target = revisionOf(poolTemplate(spec));
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0) && status?.updateRevision === target;
  const named = (hash: string): NamedRevision => ({
    hash,
    number: revisions.find((one) => one.hash === hash)?.number ?? null,
  });
  const { phase, message } = phaseOf(pool, isSeen);
  // What an older template has left behind says nothing of this one.
  const rollout = status?.rollout?.revision === target ? status.rollout : undefined;
  return {
    namespace: metadata.namespace ?? '',
    pool: metadata.name,
    phase,
    end: ENDS[phase] ?? null,
    message,
    target: named(target),
    current: status?.currentRevision === undefined ? null : named(status.currentRevision),
    replicas: status?.replicas ?? 0,
    updatedReplicas: isSeen ? (status?.updatedReplicas ?? 0) : 0,
    readyReplicas: status?.readyReplicas ?? 0,
    step: stepOf(pool, rollout),
    paused: pauseOf(pool),
    halted: rollout?.halted === undefined ? null : { ...rollout.halted, why: rollout.halted.why ?? null },
    failures: (rollout?.failures ?? []).map((failure) => ({ ...failure, wasDown: failure.wasDown === true })),
    batches: rollout?.batches ?? 0,
    startedAt: rollout?.startedAt ?? null,
    completedAt: rollout?.completedAt ?? null,
  };
}

function phaseOf(pool: Stored<Pool>, isSeen: boolean): Pick<RolloutView, 'phase' | 'message'> {
  if (pool.metadata.deletionTimestamp !== undefined)
    return { phase: 'Deleting', message: 'the pool is being deleted, and its VMs with it' };
  const progressing = isSeen ? pool.status?.conditions?.find(({ type }) => type === 'Progressing') : undefined;
  if (progressing === undefined) return { phase: 'Pending', message: 'drover has not looked at the newest spec yet' };
  return { phase: progressing.reason ?? 'Unknown', message: progressing.message ?? '' };
}

function stepOf({ spec }: Pool, rollout: Rollout | undefined): RolloutView['step'] {
  const of = spec.rollout?.steps?.length ?? 0;
  if (of === 0 || rollout === undefined) return null;
  return { passed: Math.min(rollout.step, of), of, reachedAt: rollout.stepReachedAt ?? null };
}

/** A person's pause comes before that of the spec: it tells more. */
function pauseOf({ spec, status }: Pool): RolloutView['paused'] {
  const { by, at, why } = status?.rollout?.paused ?? {};
  if (by !== undefined) return { by, at: at ?? null, why: why ?? null };
  return spec.paused === true ? { by: 'spec.paused', at: null, why: null } : null;
}
