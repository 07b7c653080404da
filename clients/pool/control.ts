import type { Stored } from '../../api/objects.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure } from '../cli/failure.ts';
import type { DryRun } from '../cli/values.ts';
import type { Session } from '../session/session.ts';
import { requestOfPool, type PoolRequest } from './ask-pool.ts';
import type { Pool } from './objects.ts';

/** A part of a pool that people control: its rollout, or its healing. */
export interface Controlled<View> {
  viewOf: (pool: Stored<Pool>) => View;
  /** Throws `Failure` if nothing can be asked of this part of the pool. */
  check?: (pool: Stored<Pool>) => void;
  /** Describes it, for the answer. */
  linesOf: (pool: Stored<Pool>, kube: KubeClient) => Promise<string[]>;
}

/** A person's request to such a part. */
export interface Control<View> extends Pick<PoolRequest, 'signal' | 'more' | 'what'> {
  /** Its outcome in words, such as `paused`. */
  done: string;
  /** Throws `Failure` if the request makes no sense for the pool as it is. */
  check: (view: View, pool: Stored<Pool>) => void;
  /** Reports whether the pool's status shows that the request was taken, compared with the status `before`. */
  isHandled: (now: View, before: View) => boolean;
  /** Throws `Failure` if something else keeps the pool from what was asked for. */
  checkAfter?: (pool: Stored<Pool>) => void;
}

/**
 * Signals the pool's workflow, and returns the pool once its status shows that the signal was taken. Throws `Failure`
 * if the request makes no sense, if no workflow manages the pool, or if the status doesn't show it in time.
 */
export async function controlPool<View>(
  session: Session,
  pool: Stored<Pool>,
  { viewOf, check }: Controlled<View>,
  control: Control<View>,
  options: { reason?: string | undefined; dryRun: DryRun },
): Promise<Stored<Pool>> {
  const { name, deletionTimestamp } = pool.metadata;
  if (deletionTimestamp !== undefined) throw new Failure(`pool ${name} is being deleted`);
  check?.(pool);
  const before = viewOf(pool);
  control.check(before, pool);
  return requestOfPool(
    session,
    pool,
    { ...control, isHandled: (now) => control.isHandled(viewOf(now), before) },
    options,
  );
}
