import { controllerOf, withoutManagedFields, type KubeObject, type Stored } from '../../api/objects.ts';
import { identityOf } from '../../api/owner-references.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { isLiveTerminal, Live } from '../cli/live.ts';
import { byName, isPool, type Owner } from '../cli/owner.ts';
import { paint, plain } from '../cli/print.ts';
import { rolloutView } from '../pool/view.ts';
import { KnownRevisions } from '../rollout/known-revisions.ts';
import { noteworthyLines } from '../rollout/lines.ts';
import type { Session } from '../session/session.ts';
import type { WhichOwners } from './data.ts';
import { memberOf, membersByOwner, type Member } from './members.ts';
import { isCurrent, readProgress, type Progress } from './progress.ts';
import { statusLines } from './status-view.ts';

const REDRAW_MS = 500;
const QUERY_MS = 1_000;
/** An object with nothing to show but its numbers and its members by state. */
const QUIET_LINES = 2;
/** Longer than the delay between two retries of a broken watch. */
const BROKEN_MS = 45_000;

/** Draws pools or replica sets again and again as they change, until it is stopped. */
export class StatusWatch {
  readonly #session: Session;
  readonly #which: WhichOwners;
  readonly #live = new Live();
  readonly #progress = new Map<string, Progress>();
  /** UIDs of the objects whose workflow is to be asked again. */
  readonly #affected = new Set<string>();
  #owners!: ListWatch<Stored<Owner>, Stored<Owner>>;
  #members!: ListWatch<KubeObject, Member>;
  #revisions!: KnownRevisions;
  #broken: { at: number; message: string } | undefined;
  readonly #failed = Promise.withResolvers<never>();
  #timers: NodeJS.Timeout[] = [];
  #isQuerying = false;

  constructor(session: Session, which: WhichOwners) {
    this.#session = session;
    this.#which = which;
  }

  /** Resolves once all is drawn. Throws if the objects can't be read; a watch that breaks later is started again. */
  async start(): Promise<this> {
    const { kind, namespace, selector: labelSelector } = this.#which;
    const client = await this.#session.kube();
    this.#revisions = new KnownRevisions(client);
    const onError = (error: Error): void => {
      this.#broken = { at: Date.now(), message: error.message };
      this.#failed.reject(error);
    };
    const markAffected = (uid: string | undefined): void => void (uid !== undefined && this.#affected.add(uid));
    this.#owners = new ListWatch<Stored<Owner>, Stored<Owner>>({
      client,
      namespace,
      labelSelector,
      onError,
      resource: kind.resource,
      view: (owner) => owner,
      onChange: (_key, before, after) => markAffected((after ?? before!).metadata.uid),
    });
    const view = memberOf(kind.members);
    this.#members = new ListWatch<KubeObject, Member>({
      client,
      namespace,
      onError,
      resource: kind.members.resource,
      view: (member) => view(withoutManagedFields(member)),
      onChange: (_key, before, after) => markAffected(controllerOf(after ?? before!)?.uid),
    });
    try {
      const all = Promise.all([this.#owners.start().ready(), this.#members.start().ready()]);
      await Promise.race([all, this.#failed.promise]);
    } catch (error) {
      await this.#stop();
      throw error;
    }
    await this.#look();
    this.#draw();
    this.#timers = [setInterval(() => this.#draw(), REDRAW_MS), setInterval(() => void this.#look(), QUERY_MS)];
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timers.forEach(clearInterval);
    this.#draw();
    this.#live.end();
    await this.#stop();
  }

  #stop = async (): Promise<void> => void (await Promise.all([this.#owners.stop(), this.#members.stop()]));

  #all(): Stored<Owner>[] {
    const { names } = this.#which;
    return [...this.#owners.values()]
      .filter(({ metadata }) => names.length === 0 || names.includes(metadata.name))
      .sort(byName);
  }

  #draw(): void {
    const now = Date.now();
    const isBroken = this.#broken !== undefined && now - this.#broken.at < BROKEN_MS;
    const warning = isBroken ? [[paint('red', plain(`this may be old: ${this.#broken!.message.trim()}`))]] : [];
    const { noun } = this.#which.kind;
    const blocks = this.#blocks(now);
    this.#live.drawBlocks(noun, [...warning, ...(blocks.length > 0 ? blocks : [[`no ${noun}s`]])]);
  }

  /**
   * Returns the lines of each object. A terminal may be too small for all: objects with more than their numbers come
   * first.
   */
  #blocks(now: number): string[][] {
    const { kind } = this.#which;
    const members = membersByOwner([...this.#members.values()], kind);
    const isTerminal = isLiveTerminal(process.stdout);
    const blocks = this.#all().map((owner) => {
      const answer = this.#progress.get(owner.metadata.uid);
      const progress = answer !== undefined && isCurrent(answer, kind, owner) ? answer : undefined;
      const rollout = isPool(kind, owner) ? rolloutView(owner, this.#revisions.of(owner)) : undefined;
      const view = { kind, owner, members: members(identityOf(owner)), progress, rollout };
      // In a log, a rollout that waits all night should not say so every second.
      return statusLines(view, now, isTerminal ? now : undefined);
    });
    return isTerminal ? blocks.toSorted((a, b) => isQuiet(a) - isQuiet(b)) : blocks;
  }

  async #look(): Promise<void> {
    const { kind } = this.#which;
    const pools = this.#all().flatMap((owner) => (isPool(kind, owner) ? [owner] : []));
    // Pools whose rollout is not shown need no numbers of revisions.
    const notable = pools.filter((pool) => noteworthyLines(rolloutView(pool), undefined).length > 0);
    await Promise.all([this.#query(), ...notable.map((pool) => this.#revisions.catchUp(pool))]);
  }

  /** Asks the workflows of objects that something happens to. No others, since a query costs a worker something. */
  async #query(): Promise<void> {
    if (this.#isQuerying || !(await this.#session.knowsTemporal())) return;
    this.#isQuerying = true;
    const due = this.#all().filter(
      ({ metadata: { uid } }) => this.#affected.has(uid) || isBusy(this.#progress.get(uid)),
    );
    this.#affected.clear();
    await Promise.all(
      due.map(async (owner) =>
        this.#progress.set(owner.metadata.uid, await readProgress(this.#session, this.#which.kind, owner)),
      ),
    );
    this.#isQuerying = false;
  }
}

const isBusy = (progress: Progress | undefined): boolean =>
  progress === undefined || !progress.known || progress.progress.doing.length > 0 || progress.progress.retryAt !== null;

const isQuiet = (lines: string[]): number => Number(lines.length <= QUIET_LINES);
