import type { Stored } from '../../api/objects.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure, throwAll } from '../cli/failure.ts';
import type { Kind } from '../cli/kinds.ts';
import { printNote, plain, print, shortDuration } from '../cli/print.ts';
import { followOwners, inTime } from '../cli/watch-until.ts';
import { readyStateOf, type ReadyState } from './ready-state.ts';

/** Objects of one kind and namespace. */
interface Group {
  kind: Kind;
  owners: Stored[];
}

/** How often to say how far they are. */
const PROGRESS_MS = 10_000;

/**
 * Waits until these objects are as their specs say, and tells what keeps them from that. Throws `Failure` for each that
 * gets no further without a user, or is not there after `timeoutMs`; drover continues with it.
 */
export async function waitUntilReady(
  kube: KubeClient,
  applied: readonly { kind: Kind; owner: Stored }[],
  timeoutMs = 0,
): Promise<void> {
  const groups = Map.groupBy(applied, ({ kind, owner }) => `${kind.resource.kind}/${owner.metadata.namespace}`);
  const waits = [...groups.values()].map((group) =>
    untilGroupIsThere(kube, { kind: group[0]!.kind, owners: group.map(({ owner }) => owner) }, timeoutMs),
  );
  const ends = await Promise.allSettled(waits);
  throwAll(ends.flatMap((end) => (end.status === 'rejected' ? failuresOf(end.reason) : [])));
}

const failuresOf = (reason: unknown): unknown[] => (reason instanceof AggregateError ? reason.errors : [reason]);

async function untilGroupIsThere(kube: KubeClient, { kind, owners }: Group, timeoutMs: number): Promise<void> {
  const progress = new ProgressLog(kind);
  let now = owners;
  const timer = setInterval(() => progress.printProgress(now), PROGRESS_MS);
  try {
    await inTime(timeoutMs, (signal) =>
      followOwners({ kube, kind, owners, signal }, (newer) => {
        now = newer;
        return progress.report(newer).every(({ state }) => state !== 'going');
      }),
    );
  } finally {
    clearInterval(timer);
  }
  throwAll(now.flatMap((owner) => failureOf(kind, owner, timeoutMs) ?? []));
}

function failureOf(kind: Kind, owner: Stored, timeoutMs: number): Failure | undefined {
  const readyState = readyStateOf(kind, owner);
  if (readyState.state === 'there') return undefined;
  const title = `${kind.noun} ${owner.metadata.name}`;
  if (readyState.state === 'stuck')
    return new Failure(readyState.message.startsWith(title) ? readyState.message : `${title}: ${readyState.message}`);
  const message = [readyState.message, ...readyState.notes].filter(Boolean).join('; ');
  return new Failure(
    `${title} is still ${readyState.phase} after ${shortDuration(timeoutMs)}: ${message}; drover continues with it`,
  );
}

/** The last line printed about each object: none is printed twice in a row. */
class ProgressLog {
  readonly #kind: Kind;
  readonly #phases = new Map<string, string>();
  readonly #messages = new Map<string, string>();
  readonly #printed = new Set<string>();

  constructor(kind: Kind) {
    this.#kind = kind;
  }

  /** Reports at once what is new: a phase, an obstacle, or success. */
  report(owners: readonly Stored[]): ReadyState[] {
    return owners.map((owner) => {
      const { name } = owner.metadata;
      const readyState = readyStateOf(this.#kind, owner);
      const phase = readyState.state === 'going' ? readyState.phase : readyState.state;
      // A worker picks it up in no time, or the report of progress says that none does.
      if (this.#phases.get(name) !== phase && phase !== 'Pending') this.#say(name, readyState);
      this.#phases.set(name, phase);
      if (readyState.state === 'going')
        for (const note of readyState.notes) this.#printOnce(`${this.#title(name)}: ${note}`);
      return readyState;
    });
  }

  /** Reports their progress. */
  printProgress(owners: readonly Stored[]): void {
    for (const owner of owners) {
      const readyState = readyStateOf(this.#kind, owner);
      if (readyState.state === 'going') this.#say(owner.metadata.name, readyState);
    }
  }

  #say(name: string, readyState: ReadyState): void {
    if (readyState.state === 'stuck') return;
    const line =
      readyState.state === 'there'
        ? `${this.#title(name)} matches its spec${readyState.but === undefined ? '' : `, but for pods: ${plain(readyState.but)}`}`
        : `${this.#title(name)}: ${readyState.phase}: ${plain(readyState.message)}`;
    if (this.#messages.get(name) === line) return;
    this.#messages.set(name, line);
    print(line);
  }

  #printOnce(line: string): void {
    if (this.#printed.has(line)) return;
    this.#printed.add(line);
    printNote(plain(line));
  }

  #title(name: string): string {
    return `${this.#kind.noun} ${name}`;
  }
}
