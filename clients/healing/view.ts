import type { Stored } from '../../api/objects.ts';
import type { HealingStatus } from '../../api/pool/pool.ts';
import type { NotReplaced } from '../../decisions/healing/find-unhealthy.ts';
import type { Pool } from '../../decisions/views/pool.ts';

type Cycle = HealingStatus['cycles'][number];
type FinishedCycle = HealingStatus['finished'][number];

/** State of a pool's healing, from the pool's status; `-o json` prints it as is. */
export interface HealView {
  namespace: string;
  pool: string;
  /** Whether the pool's spec asks for healing. */
  autohealing: boolean;
  /**
   * Reason of the condition `Healing`; `Off` without autohealing, `Pending` until drover has observed the newest spec,
   * `Deleting` while the pool is being deleted.
   */
  phase: string;
  /** VMs that are not ready and not being replaced. VMs whose replacement waits come first. */
  notReplaced: NotReplaced[];
  /** How many more of them there are. */
  notListed: number;
  /** Why unhealthy VMs are not replaced: reason and message of the condition `HealingSuspended`. */
  suspended: { reason: string; message: string } | null;
  paused: { by: string; at: string; reason: string | null } | null;
  /** In order of their start. */
  cycles: (Omit<Cycle, 'nextAt'> & { nextAt: string | null })[];
  /** Ended cycles, only the newest of each VM; the newest last. */
  finished: FinishedCycle[];
}

export function healView(pool: Stored<Pool>): HealView {
  const { metadata, spec, status } = pool;
  const { paused, cycles = [], finished = [], notReplaced = [], notListed = 0 } = status?.healing ?? {};
  const conditions = status?.conditions ?? [];
  const healing = conditions.find(({ type }) => type === 'Healing');
  const suspended = conditions.find(({ type, status }) => type === 'HealingSuspended' && status === 'True');
  return {
    namespace: metadata.namespace ?? '',
    pool: metadata.name,
    autohealing: spec.autohealing !== undefined,
    phase: phaseOf(pool, healing?.reason),
    notReplaced,
    notListed,
    suspended:
      suspended === undefined ? null : { reason: suspended.reason ?? 'Unknown', message: suspended.message ?? '' },
    paused: paused === undefined ? null : { ...paused, reason: paused.reason ?? null },
    cycles: cycles.map((cycle) => ({ ...cycle, nextAt: cycle.nextAt ?? null })),
    finished: finished.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at)),
  };
}

function phaseOf({ metadata, spec, status }: Stored<Pool>, reason: string | undefined): string {
  if (metadata.deletionTimestamp !== undefined) return 'Deleting';
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) return 'Pending';
  return reason ?? (spec.autohealing === undefined ? 'Off' : 'Pending');
}
