import { fetchJson, type Answer } from '../live/fetch-json.ts';

/** What is known of a resource of the server that the stream does not have. `old`: why it could not be read again. */
export type Loaded<T> =
  | { state: 'loading' }
  | { state: 'here'; data: T; old: string | null }
  | { state: 'failed'; sentence: string };

interface Entry {
  loaded: Loaded<unknown>;
  /** When it was last asked for, 0 if never, and when a view last wanted it: of `performance.now()`. */
  requestedAt: number;
  wantedAt: number;
  isLoading: boolean;
}

/** Older details are asked for again while they are shown. */
const FRESH_MS = 4_000;
/** What no view has wanted for so long is forgotten. */
const KEPT_MS = 60_000;

/** Asks for details while a view shows them. */
export class Loader {
  readonly #entries = new Map<string, Entry>();
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Returns what is known, and sees to it that more will be. */
  get<T>(path: string): Loaded<T> {
    const now = performance.now();
    const entry: Entry = this.#entries.get(path) ?? {
      loaded: { state: 'loading' },
      requestedAt: 0,
      wantedAt: now,
      isLoading: false,
    };
    entry.wantedAt = now;
    this.#entries.set(path, entry);
    if (entry.requestedAt === 0) void this.#load(path, entry);
    return entry.loaded as Loaded<T>;
  }

  /** Asks again for what is shown and no longer fresh. */
  refresh(now: number, { evenIfFresh = false } = {}): void {
    for (const [path, entry] of this.#entries) {
      if (now - entry.wantedAt > KEPT_MS) this.#entries.delete(path);
      else if (evenIfFresh || now - entry.requestedAt > FRESH_MS) void this.#load(path, entry);
    }
  }

  /** Forgets what is no longer shown, such as that of another view. */
  clear(): void {
    this.#entries.clear();
  }

  async #load(path: string, entry: Entry): Promise<void> {
    if (entry.isLoading) return;
    entry.isLoading = true;
    entry.requestedAt = performance.now();
    const loaded = after(entry.loaded, await fetchJson(path));
    entry.isLoading = false;
    if (JSON.stringify(loaded) === JSON.stringify(entry.loaded)) return;
    entry.loaded = loaded;
    this.#changed();
  }
}

/** A server that can't be asked takes nothing from the view: only what is gone goes. */
function after(before: Loaded<unknown>, answer: Answer<unknown>): Loaded<unknown> {
  if (answer.state === 'here') return { ...answer, old: null };
  const { sentence } = answer;
  if (before.state === 'here' && answer.status !== 404) return { ...before, old: sentence };
  return { state: 'failed', sentence };
}
