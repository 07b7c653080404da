import type { KubeObject, Stored } from '../../../api/objects.ts';
import { Namespaces } from '../../../api/resources.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { ListWatch } from '../../../kubernetes/list-watch.ts';

/** Rights are mostly given right after a namespace was made. Milliseconds. */
const FIRST_MS = 5_000;
/** Each look takes four questions to the API server, and there may be hundreds of namespaces. Milliseconds. */
const LAST_MS = 300_000;
const QUESTIONS_AT_ONCE = 8;

interface Listener {
  /** Reports whether there may be something to see. */
  may: (namespace: string) => Promise<boolean>;
  /** Called with namespaces that can be seen into from now on. */
  onSeen: (namespaces: string[]) => Promise<void>;
  onGone: (namespace: string) => void;
}

interface Known {
  isSeen: boolean;
  /** When it is asked about next, of `performance.now()`, and how long after that again. */
  dueAt: number;
  againMs: number;
}

/**
 * The namespaces that a user may see into who may not see all of the cluster. It follows changes: a namespace is asked
 * about when it is made, 5 s later, 10 s later, and so on up to every five minutes, until the user may see into it.
 */
export class VisibleNamespaces {
  readonly #listener: Listener;
  readonly #watch: ListWatch<KubeObject, string>;
  readonly #known = new Map<string, Known>();
  #timer: NodeJS.Timeout | undefined;
  #polling = Promise.resolve();

  constructor(client: KubeClient, listener: Listener) {
    this.#listener = listener;
    this.#watch = new ListWatch<KubeObject, string>({
      client,
      resource: Namespaces,
      metadataOnly: true,
      isOptional: true,
      view: ({ metadata }: Stored) => metadata.name,
      onChange: (name, before, after) => {
        if (after === undefined) this.#leave(name);
        else if (before === undefined) this.#known.set(name, { isSeen: false, dueAt: 0, againMs: FIRST_MS });
        if (this.#timer !== undefined) this.#pollSoon();
      },
    });
  }

  /** Resolves once all namespaces were asked about; there are none if the user may not list namespaces. */
  async start(): Promise<void> {
    await this.#watch.start().ready();
    await this.#poll();
    this.#timer = setInterval(() => this.#pollSoon(), FIRST_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#watch.stop();
  }

  /** One after the other, so that a namespace is asked about once. */
  #pollSoon(): void {
    this.#polling = this.#polling.then(() => this.#poll()).catch(() => {});
  }

  async #poll(): Promise<void> {
    const now = performance.now();
    const due = [...this.#known].filter(([, { isSeen, dueAt }]) => !isSeen && dueAt <= now);
    const seen: string[] = [];
    await inTurn(due, async ([name, known]) => {
      known.isSeen = await this.#listener.may(name);
      known.dueAt = now + known.againMs;
      known.againMs = Math.min(known.againMs * 2, LAST_MS);
      if (known.isSeen && this.#known.get(name) === known) seen.push(name);
    });
    if (seen.length > 0) await this.#listener.onSeen(seen);
  }

  #leave(name: string): void {
    const wasSeen = this.#known.get(name)?.isSeen === true;
    this.#known.delete(name);
    if (wasSeen) this.#listener.onGone(name);
  }
}

/** Calls `work` for each item, a few at a time. */
export async function inTurn<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const workOff = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: QUESTIONS_AT_ONCE }, workOff));
}
