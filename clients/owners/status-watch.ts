import { identityOf } from '../../api/owner-references.ts';
import { isLiveTerminal, Live } from '../cli/live.ts';
import { isPool } from '../cli/owner.ts';
import { paint, plain } from '../cli/print.ts';
import { rolloutView } from '../pool/view.ts';
import { KnownRevisions } from '../rollout/known-revisions.ts';
import { noteworthyLines } from '../rollout/lines.ts';
import type { Session } from '../session/session.ts';
import { membersByOwner } from './members.ts';
import { isCurrent, readProgress, type Progress } from './progress.ts';
import { statusLines } from './status-view.ts';
import { OwnerWatch, type WatchedOwners } from './watch.ts';

const REDRAW_MS = 500;
const QUERY_MS = 1_000;
/** An object with nothing to show but its numbers and its members by state. */
const QUIET_LINES = 2;
/** Longer than the delay between two retries of a broken watch. */
const BROKEN_MS = 45_000;

/** What a `StatusWatch` follows. */
interface StatusChoice extends WatchedOwners {
  session: Session;
  withProgress: boolean;
  /** Whether objects are drawn again and again as they change, or once. */
  isLive: boolean;
}

/** Draws pools or replica sets again and again as they change, until it is stopped. */
export class StatusWatch {
  readonly #choice: StatusChoice;
  readonly #live = new Live();
  readonly #progress = new Map<string, Progress>();
  /** UIDs of the objects whose workflow is to be asked again. */
  readonly #affected = new Set<string>();
  #fleet: OwnerWatch | undefined;
  #revisions: KnownRevisions | undefined;
  #broken: { at: number; message: string } | undefined;
  #timers: NodeJS.Timeout[] = [];
  #isQuerying = false;

  constructor(choice: StatusChoice) {
    this.#choice = choice;
  }

  async start(): Promise<this> {
    const { session, kind, namespace, names, selector } = this.#choice;
    const kube = await session.kube();
    this.#revisions = new KnownRevisions(kube);
    const onChange = (ownerUid: string): void => void this.#affected.add(ownerUid);
    const onError = ({ message }: Error): void => {
      this.#broken = { at: Date.now(), message };
    };
    this.#fleet = await new OwnerWatch({ kube, kind, namespace, names, selector, onChange, onError }).start();
    await Promise.all([this.#query(), this.#learn()]);
    if (!this.#choice.isLive) return this;
    this.#draw();
    const look = (): void => void Promise.all([this.#query(), this.#learn()]);
    this.#timers = [setInterval(() => this.#draw(), REDRAW_MS), setInterval(look, QUERY_MS)];
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timers.forEach(clearInterval);
    this.#draw();
    this.#live.end();
    await this.#fleet?.stop();
  }

  #draw(): void {
    const now = Date.now();
    const isBroken = this.#broken !== undefined && now - this.#broken.at < BROKEN_MS;
    const warning = isBroken ? [paint('red', plain(`this may be old: ${this.#broken!.message.trim()}`))] : [];
    const { kind } = this.#choice;
    const blocks = this.#blocks(now);
    const shown = blocks.length > 0 ? blocks : [[`no ${kind.noun}s`]];
    this.#live.drawBlocks(kind.noun, [...(warning.length > 0 ? [warning] : []), ...shown]);
  }

  /**
   * Returns the lines of each object. A terminal may be too small for all: objects come first that there is more to say
   * of than their numbers.
   */
  #blocks(now: number): string[][] {
    const { kind, isLive } = this.#choice;
    const members = membersByOwner(this.#fleet!.members(), kind);
    const blocks = this.#fleet!.owners().map((owner) => {
      const { uid } = owner.metadata;
      const answer = this.#progress.get(uid);
      const progress = answer !== undefined && isCurrent(answer, kind, owner) ? answer : undefined;
      const revisions = isPool(kind, owner) ? this.#revisions!.of(owner) : [];
      return statusLines({ kind, owner, members: members(identityOf(owner)), progress, revisions, isLive }, now);
    });
    if (!isLive || !isLiveTerminal(process.stdout)) return blocks;
    return blocks.toSorted((a, b) => isQuiet(a) - isQuiet(b));
  }

  /** Reads the revisions of pools whose rollout is shown: no others need their numbers. */
  async #learn(): Promise<void> {
    const { kind } = this.#choice;
    const pools = this.#fleet!.owners().flatMap((owner) => (isPool(kind, owner) ? [owner] : []));
    const notable = pools.filter((pool) => noteworthyLines(rolloutView(pool), undefined).length > 0);
    await Promise.all(notable.map((pool) => this.#revisions!.catchUp(pool)));
  }

  /** Asks the workflows of objects that something happens to. No others, since a query costs a worker something. */
  async #query(): Promise<void> {
    const { session, kind, withProgress } = this.#choice;
    if (!withProgress || this.#isQuerying) return;
    this.#isQuerying = true;
    const due = this.#fleet!
      .owners()
      .filter(({ metadata: { uid } }) => this.#affected.has(uid) || isBusy(this.#progress.get(uid)));
    this.#affected.clear();
    await Promise.all(
      due.map(async (owner) => this.#progress.set(owner.metadata.uid, await readProgress(session, kind, owner))),
    );
    this.#isQuerying = false;
  }
}

const isBusy = (progress: Progress | undefined): boolean =>
  progress === undefined || !progress.known || progress.progress.doing.length > 0 || progress.progress.retryAt !== null;

const isQuiet = (lines: string[]): number => Number(lines.length <= QUIET_LINES);
