import type { Stored } from '../../api/objects.ts';
import { HEALING_REQUESTS, type HealingRequest } from '../../decisions/pool/healing-request.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { Failure } from '../cli/failure.ts';
import { controlsPools, type Control, type Controlled } from '../pool/control.ts';
import { since, type RequestChannel } from '../pool/request.ts';
import { stateLines } from './lines.ts';
import { healView, type HealView } from './view.ts';

const typed = (request: HealingRequest): HealingRequest => request;

export const pause: Control<HealView> = {
  done: 'healing paused',
  what: 'pause its healing',
  body: () => typed({ action: 'pause' }),
  check: ({ pool, paused }) => {
    if (paused !== null) throw new Failure(`the healing of pool ${pool} is already paused, by ${since(paused)}`);
  },
};

export const resume: Control<HealView> = {
  done: 'healing resumed',
  what: 'resume its healing',
  body: () => typed({ action: 'resume' }),
  check: ({ pool, paused, suspended }) => {
    if (paused !== null) return;
    const message = suspended === null ? 'nothing to resume' : `what suspends it ends by itself: ${suspended.message}`;
    throw new Failure(`the healing of pool ${pool} is not paused: ${message}`);
  },
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

/** Where requests about healing stand, and are answered. */
export const HealingChannel: RequestChannel = {
  names: HEALING_REQUESTS,
  handledIn: ({ status }) => status?.healing?.handledRequests,
};

export const Healing: Controlled<HealView> = {
  ...HealingChannel,
  viewOf: healView,
  check: checkHeals,
  linesOf: async (pool) => stateLines(healView(pool), Date.now()),
};

export const pauseHealing = controlsPools(Healing, () => pause);
export const resumeHealing = controlsPools(Healing, () => resume);
