import type { Stored } from '../../api/objects.ts';
import { Failure } from '../cli/failure.ts';
import type { DryRun } from '../cli/values.ts';
import { requestOfPool, since } from '../pool/ask-pool.ts';
import type { Pool } from '../pool/objects.ts';
import type { Session } from '../session/session.ts';
import { healView, type HealView } from './view.ts';

/** A person's request to the healing of a whole pool. */
export interface HealControl {
  signal: 'healPause' | 'healResume';
  /** Its outcome in words, such as `healing paused`. */
  done: string;
  /** The request as a verb phrase, such as `pause its healing`. */
  what: string;
  /** Throws `Failure` if the request makes no sense for the pool as it is. */
  check: (view: HealView) => void;
  /** Reports whether the pool's status shows that the request was taken. */
  isHandled: (now: HealView) => boolean;
}

export const pause: HealControl = {
  signal: 'healPause',
  done: 'healing paused',
  what: 'pause its healing',
  check: ({ pool, paused }) => {
    if (paused !== null) throw new Failure(`the healing of pool ${pool} is already paused, by ${since(paused)}`);
  },
  isHandled: ({ paused }) => paused !== null,
};

export const resume: HealControl = {
  signal: 'healResume',
  done: 'healing resumed',
  what: 'resume its healing',
  check: ({ pool, paused, suspended }) => {
    if (paused !== null) return;
    const why = suspended === null ? 'nothing to resume' : `what suspends it ends by itself: ${suspended.message}`;
    throw new Failure(`the healing of pool ${pool} is not paused: ${why}`);
  },
  isHandled: ({ paused }) => paused === null,
};

/**
 * Throws `Failure` for a pool that is being deleted, or that has neither autohealing nor healing cycles in progress.
 */
export function checkHeals({ metadata: { name, deletionTimestamp }, spec, status }: Stored<Pool>): void {
  if (deletionTimestamp !== undefined) throw new Failure(`pool ${name} is being deleted`);
  if (spec.autohealing === undefined && (status?.healing?.cycles ?? []).length === 0) {
    throw new Failure(`pool ${name} has no autohealing: \`autohealing: {}\` in its spec turns it on`);
  }
}

/**
 * Signals the pool's workflow, and returns the pool once its status shows that the signal was taken. Throws `Failure`
 * if the request makes no sense, if no workflow manages the pool, or if the status doesn't show it in time.
 */
export async function controlHealing(
  session: Session,
  pool: Stored<Pool>,
  control: HealControl,
  options: { reason?: string | undefined; dryRun: DryRun },
): Promise<Stored<Pool>> {
  checkHeals(pool);
  control.check(healView(pool));
  return requestOfPool(session, pool, { ...control, isHandled: (now) => control.isHandled(healView(now)) }, options);
}
