import { setTimeout as sleep } from 'node:timers/promises';
import type { Temporal } from '../../clients/session/temporal.ts';
import { isObject } from '../../decisions/lib/json.ts';
import type { SeenWrite } from './etcd-journal.ts';
import { Requests, type Activity, type Request } from './requests.ts';
import { SeenWorld } from './seen-world.ts';

/** Milliseconds for which a write waits for the words of who made it. */
const WAIT_MS = 5_000;
const AGAIN_MS = 250;
/** Temporal is back within two minutes. */
const TRIES = 480;
/** Workflows whose input the checks ask for. */
const WITH_INPUT = new Set(['updateBatch', 'operation']);

/** What is to be looked at, in its order: a write, a read, or something that the soak does. */
type Item = { at: number } & ({ write: SeenWrite } | { read: Request } | { does: (world: SeenWorld) => void });

/** Looks at everything a few seconds after it has happened, so that it is known by then who did it. */
export class Observer {
  readonly world: SeenWorld;
  /** Writes of workers, by the type of their activity. */
  readonly counts = new Map<string, number>();
  readonly #requests: Requests;
  readonly #temporal: Temporal;
  #items: Item[] = [];
  readonly #runIds = new Map<string, string>();

  /** `journal`: path of a file for all that is seen. */
  constructor(trace: string, temporal: Temporal, journal: string | undefined) {
    this.world = new SeenWorld(journal);
    this.#requests = new Requests(trace);
    this.#temporal = temporal;
  }

  onWrite = (write: SeenWrite): void => void this.#items.push({ at: write.at, write });

  /** Notes what the soak does now. */
  does(act: (world: SeenWorld) => void): void {
    this.#items.push({ at: Date.now(), does: act });
  }

  say(words: string): void {
    this.does((world) => world.say(`-- ${words}`));
  }

  /** Looks at all that happens until the signal, and then at the rest. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#lookUntil(Date.now() - WAIT_MS);
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => {});
    }
    await sleep(WAIT_MS);
    await this.#lookUntil(Date.now());
    this.#requests.close();
  }

  async #lookUntil(until: number): Promise<void> {
    for (const read of this.#requests.read()) this.#items.push({ at: read.at, read });
    const ripe = this.#items.filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at);
    this.#items = this.#items.filter(({ at }) => at > until);
    for (const item of ripe) await this.#look(item);
  }

  async #look(item: Item): Promise<void> {
    if ('does' in item) return item.does(this.world);
    if ('read' in item) return this.world.read(item.read);
    const by = this.#requests.authorOf(item.write);
    if (by?.who === 'worker') {
      const what = by.activity?.type ?? 'no activity';
      this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
      if (by.activity !== null) await this.#learn(by.activity);
    }
    this.world.see(item.write, by);
  }

  /** Learns what the workflow of an activity is about. */
  async #learn({ workflowId: id, runId, workflowType: type }: Activity): Promise<void> {
    if (this.#runIds.get(id) === runId) return;
    this.#runIds.set(id, runId);
    const args = WITH_INPUT.has(type) ? await this.#inputOf(id, runId) : [];
    // An operation that has not begun is asked about again with its next activity.
    if (type === 'operation' && args[1] === undefined) this.#runIds.delete(id);
    this.world.runs.set(id, { id, type, args, isOpen: true, status: 'RUNNING' });
  }

  /** Returns the input of a run, or what an operation has begun with. Asks until Temporal answers: it may be dead. */
  async #inputOf(workflowId: string, runId: string): Promise<unknown[]> {
    const { client, namespace } = this.#temporal;
    for (let tries = 1; ; tries++) {
      try {
        const { history } = await client.workflowService.getWorkflowExecutionHistory({
          namespace,
          execution: { workflowId, runId },
        });
        const [started, ...events] = history!.events!;
        const { input } = started!.workflowExecutionStartedEventAttributes!;
        const [key, ...rest] = decoded(input);
        const results = events.flatMap((event) => decoded(event.activityTaskCompletedEventAttributes?.result));
        // An operation that begins is given its input by an activity.
        return rest[0] === undefined || rest[0] === null ? [key, results.find(isBeginning)] : [key, ...rest];
      } catch (error) {
        if (tries === TRIES) throw error;
        await sleep(AGAIN_MS);
      }
    }
  }
}

const decoded = (payloads: { payloads?: { data?: Uint8Array | null }[] | null } | null | undefined): unknown[] =>
  (payloads?.payloads ?? []).map(({ data }) => JSON.parse(Buffer.from(data ?? []).toString() || 'null') as unknown);

const isBeginning = (result: unknown): boolean => isObject(result) && result['is'] === 'run';
