import type { Need } from '../../contract/fleet.ts';
import type { Session } from '../../contract/messages.ts';

/** What a tab knows, as far as a screen reader announces it. */
interface Known {
  fleet: { needs: { items: readonly Pick<Need, 'id' | 'sentence'>[] }; isSynced: boolean };
  session: Pick<Session, 'state'> | null;
  connection: { state: 'connecting' | 'open' | 'reconnecting' | 'signed-out' };
  pausedAt: number | null;
}

export type LiveState =
  | 'connecting'
  | 'loading'
  | 'live'
  | 'paused'
  | 'reconnecting'
  | 'cut-off'
  | 'refused'
  | 'signed-out';

/**
 * How what is shown relates to what is so. `cut-off`: the server answers, the API server does not; `refused`: that
 * answers, but not this user.
 */
export function liveState({ fleet, session, connection, pausedAt }: Known): LiveState {
  if (connection.state === 'signed-out') return 'signed-out';
  if (pausedAt !== null) return 'paused';
  if (connection.state !== 'open') return connection.state;
  if (session?.state === 'reconnecting') return 'cut-off';
  if (session?.state === 'refused') return 'refused';
  return fleet.isSynced ? 'live' : 'loading';
}

interface Followed extends Known {
  session: Pick<Session, 'state' | 'since'> | null;
  connection: Known['connection'] & { since: number };
}

/** Since when the page does not follow the cluster, in milliseconds since the epoch; null while it does. */
export function unknownSince(known: Followed): number | null {
  switch (liveState(known)) {
    case 'paused':
      return known.pausedAt;
    case 'reconnecting':
      return known.connection.since;
    case 'cut-off':
    case 'refused':
      return Date.parse(known.session!.since);
    case 'connecting':
    case 'loading':
    case 'live':
    case 'signed-out':
      return null;
  }
}

const SENTENCES: Record<LiveState, string | null> = {
  connecting: null,
  loading: null,
  live: 'Live.',
  paused: 'Updates are paused.',
  reconnecting: 'Reconnecting: what is shown may be old.',
  'cut-off': 'The API server does not answer: what is shown may be old.',
  refused: 'The API server rejects you: what is shown may be old.',
  'signed-out': 'Signed out.',
};

/** Finds what is worth an announcement: how the page follows the fleet, and what newly needs a person. */
export class News {
  #state: LiveState = 'connecting';
  #needs: ReadonlySet<string> | null = null;

  /** Returns a sentence if something is new since the last call. */
  of(known: Known): string | null {
    const state = liveState(known);
    const change = state === this.#state ? null : SENTENCES[state];
    if (change !== null || state === 'loading') this.#state = state;
    if (state !== 'live') return change;
    const { items } = known.fleet.needs;
    const fresh = this.#needs === null ? [] : items.filter(({ id }) => !this.#needs!.has(id));
    this.#needs = new Set(items.map(({ id }) => id));
    const [first] = fresh;
    if (first === undefined) return change;
    return `Needs a person: ${first.sentence}${fresh.length === 1 ? '' : `, and ${fresh.length - 1} more`}`;
  }
}
