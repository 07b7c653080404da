import type { Stored } from '../../api/objects.ts';
import { Failure } from '../cli/failure.ts';
import { since } from '../pool/ask-pool.ts';
import type { Control, Controlled } from '../pool/control.ts';
import type { Pool } from '../pool/objects.ts';
import { stateLines } from './lines.ts';
import { healView, type HealView } from './view.ts';

export const pause: Control<HealView> = {
  signal: 'healPause',
  done: 'healing paused',
  what: 'pause its healing',
  check: ({ pool, paused }) => {
    if (paused !== null) throw new Failure(`the healing of pool ${pool} is already paused, by ${since(paused)}`);
  },
  isHandled: ({ paused }) => paused !== null,
};

export const resume: Control<HealView> = {
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

export const Healing: Controlled<HealView> = {
  viewOf: healView,
  check: checkHeals,
  linesOf: async (pool) => stateLines(healView(pool), Date.now()),
};
