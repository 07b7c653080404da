import type { BudgetCard, DrainCard, Need, OperationCard, OwnerCard, ScheduleCard, VmCell } from './fleet.ts';

/**
 * The stream, `GET /api/stream`: server-sent events without a name, whose `data` is one `Message` as JSON. First come a
 * `session`, a `heartbeat`, and a `delta` with all that is known; then what changes.
 */
export type Message = Session | Delta | Heartbeat;

/** Who sees what. Sent at the start and whenever it changes; also the answer of `GET /api/session`. */
export interface Session {
  type: 'session';
  /** As the API server knows the user; null if it does not say. */
  user: string | null;
  /** Address of the API server. */
  server: string;
  /**
   * Unless it is live, what is shown is from before `since`. `reconnecting`: the API server does not answer; `refused`:
   * it rejects the user's credentials.
   */
  state: 'live' | 'reconnecting' | 'refused';
  since: string;
  /** Why it is not live; null while it is. */
  message: string | null;
  /** Namespaces that are watched; null for all of the cluster. */
  namespaces: string[] | null;
  /**
   * What is not shown, and why, such as `nodes`, null, `you may not list them`. Namespace null: in all of them.
   * `isForbidden`: there may be some; `since`: what is shown of it is from before that; null if nothing is shown.
   */
  unseen: { what: string; namespace: string | null; message: string; isForbidden: boolean; since: string | null }[];
  isReadOnly: boolean;
  versions: { drover: string; kubernetes: string | null; kubevirt: string | null };
}

/** Collections whose items have an `id`. Needs are not among them: their list is sent whole, in its order. */
export interface Collections {
  cards: OwnerCard;
  operations: OperationCard;
  schedules: ScheduleCard;
  drains: DrainCard;
  budgets: BudgetCard;
}

/** What needs a person, what needs one most first. */
export interface Needs {
  items: Need[];
  /** How many there are, also beyond the items. */
  count: number;
}

/** Items that are new or changed, whole, and the ids of items that are gone. */
export interface Changes<Item> {
  set?: Item[];
  gone?: string[];
}

export type Delta = { [K in keyof Collections]?: Changes<Collections[K]> } & {
  type: 'delta';
  /** In place of all that a client knows: the first of a stream, and after deltas that a client was too slow for. */
  isWhole?: true;
  /** All that may be listed was sent: from now on, nothing shown means that there is nothing. */
  isSynced: boolean;
  needs?: Needs;
  /**
   * By the id of the card: VMs that are new or changed, in no order, and the names of VMs that are gone. A card that is
   * gone takes its cells with it.
   */
  cells?: Record<string, Changes<VmCell>>;
};

/** Every 10 seconds, so that a client knows a silent stream from a dead one. */
export interface Heartbeat {
  type: 'heartbeat';
  /** The time by the API server's clock, RFC 3339: all other times are of that clock. */
  at: string;
}
