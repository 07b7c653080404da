import { KubeError } from '../../../kubernetes/errors.ts';
import { sentenceOf } from '../../cli/failure.ts';
import { whoAmI } from '../../session/requester.ts';
import type { Session } from '../../session/session.ts';
import { NotNow, type Answers } from '../server/answer.ts';
import type { UserDashboard } from '../user-dashboard.ts';
import type { Identity } from './identity.ts';

interface UserDashboardsOptions {
  /** Returns a session in the name of the user, and of nobody else. */
  sessionFor: (identity: Identity) => Session;
  open: (identity: Identity, session: Session, onRevoked: () => void) => Promise<UserDashboard>;
  /** How many users may use it at once. */
  most: number;
  /** How long a user's fleet is kept that no browser of theirs looks at, in milliseconds. */
  lingerMs?: number;
}

interface Entry {
  dashboard: Promise<UserDashboard>;
  session: Session;
  /** How many browsers look. */
  clients: () => number;
  /** When it was last asked for something, by `performance.now()`. */
  usedAt: number;
}

const LINGER_MS = 60_000;
/** A dashboard that was asked for just now is about to be looked at. */
const JUST_NOW_MS = 5_000;

/**
 * One dashboard for each user, shared by all browsers of that user and by no others: it is found only by the identity
 * of a request.
 */
export class UserDashboards {
  readonly #options: Required<UserDashboardsOptions>;
  readonly #entries = new Map<string, Entry>();
  readonly #sweeping: NodeJS.Timeout;

  constructor(options: UserDashboardsOptions) {
    this.#options = { lingerMs: LINGER_MS, ...options };
    this.#sweeping = setInterval(() => this.#sweep(), this.#options.lingerMs / 4);
    this.#sweeping.unref();
  }

  /** How many users look, or have looked a moment ago. */
  get users(): number {
    return this.#entries.size;
  }

  /** How many browsers look. */
  get clients(): number {
    return [...this.#entries.values()].reduce((sum, { clients }) => sum + clients(), 0);
  }

  /** Returns what this user is answered with. Throws `NotNow` if too many others look, or Kubernetes refuses. */
  async answersFor(identity: Identity): Promise<Answers> {
    const entry = this.#entries.get(identity.key) ?? this.#open(identity);
    entry.usedAt = performance.now();
    return (await entry.dashboard).answers;
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeping);
    await Promise.all([...this.#entries].map(([key, entry]) => this.#end(key, entry)));
  }

  #open(identity: Identity): Entry {
    this.#evictUnused();
    const { key } = identity;
    const session = this.#options.sessionFor(identity);
    const opening: Promise<UserDashboard> = confirmed(session, identity).then(() =>
      this.#options.open(identity, session, () => void this.#end(key, entry)),
    );
    const entry: Entry = { dashboard: opening, session, clients: () => 0, usedAt: performance.now() };
    this.#entries.set(key, entry);
    opening.then(
      (dashboard) => {
        entry.clients = () => dashboard.answers.stream.clients;
        dashboard.start();
      },
      () => this.#end(key, entry),
    );
    return entry;
  }

  /** Throws `NotNow` if all that are open are looked at. */
  #evictUnused(): void {
    const { most } = this.#options;
    if (this.#entries.size < most) return;
    const [unused] = this.#unusedFor(JUST_NOW_MS).toSorted(([, one], [, other]) => one.usedAt - other.usedAt);
    if (unused === undefined)
      throw new NotNow(503, `${most} users are on this dashboard, which is the maximum: try again later`);
    void this.#end(...unused);
  }

  #unusedFor(ms: number): [key: string, entry: Entry][] {
    const now = performance.now();
    return [...this.#entries].filter(([, { clients, usedAt }]) => clients() === 0 && now - usedAt > ms);
  }

  #sweep(): void {
    const now = performance.now();
    for (const entry of this.#entries.values()) if (entry.clients() > 0) entry.usedAt = now;
    for (const unused of this.#unusedFor(this.#options.lingerMs)) void this.#end(...unused);
  }

  /** Ends this dashboard; a browser that still looks at it comes back, and opens a new one. */
  async #end(key: string, entry: Entry): Promise<void> {
    if (this.#entries.get(key) !== entry) return;
    this.#entries.delete(key);
    await entry.dashboard.then((dashboard) => dashboard.close()).catch(() => {});
    await entry.session.close();
  }
}

/**
 * Throws `NotNow` unless the API server takes the session for one of this user in these groups, and no others: it may
 * refuse, and what stands before it may drop what says whose request it is, which would then be the server's own.
 */
async function confirmed(session: Session, identity: Identity): Promise<void> {
  const user = await session
    .kube()
    .then(whoAmI)
    .catch((error: unknown) => {
      const isRefused = error instanceof KubeError && error.status === 403;
      throw new NotNow(isRefused ? 403 : 503, `Kubernetes can't be asked in your name: ${sentenceOf(error)}`);
    });
  const groups = user.groups.filter((name) => name !== 'system:authenticated').toSorted();
  if (user.user === identity.user && JSON.stringify(groups) === JSON.stringify(identity.groups)) return;
  throw new NotNow(
    403,
    `the API server sees you as ${user.user ?? 'nobody'}, in the groups ${groups.join(', ') || 'none'}: ` +
      'does something between this server and the API server drop the headers about users?',
  );
}
