import { setTimeout as sleep } from 'node:timers/promises';
import type { Temporal } from '../../clients/session/temporal.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { seeded } from '../seeded.ts';
import { waitFor } from '../wait-for.ts';
import { followEtcd } from './etcd-journal.ts';
import { makeFleet } from './fleet.ts';
import { Observer } from './observer.ts';
import type { Finding } from './seen-world.ts';
import type { Servers, Victim } from './servers.ts';
import { failedOperations, lastingUids, lostOf, unsettled } from './settled.ts';
import { Work } from './work.ts';

interface SoakOptions {
  servers: Servers;
  kube: KubeClient;
  temporal: Temporal;
  seed: number;
  say: (line: string) => void;
  signal: AbortSignal;
  /** Path of a file for all that is seen. */
  journal: string | undefined;
}

/** Between two things that users do, on average. */
const ACT_MS = 1_000;
/** How often a kill waits until all are ready. */
const ALL_UP = 0.75;
/** Within this time, all must be as wanted once the kills have stopped. */
const SETTLED_MS = 900_000;
const LOOK_MS = 2_000;

/** Does work, kills what does it, and checks the guarantees all the while. */
export class Soak {
  readonly #in: SoakOptions;
  readonly #observer: Observer;
  readonly #work: Work;
  readonly #kills = new Map<Victim, number>();
  readonly #late: string[] = [];
  readonly #failed: string[] = [];

  constructor(options: SoakOptions) {
    this.#in = options;
    const { servers, temporal, kube, seed } = options;
    this.#observer = new Observer(servers.trace, temporal, options.journal);
    // One for each, or the instants of the kills would depend on the work.
    this.#work = new Work(kube, this.#observer, seeded(seed + 1));
  }

  /** Notes that a process has ended, or is back. */
  note(line: string): void {
    this.#observer.say(line);
  }

  get findings(): readonly Pick<Finding, 'words'>[] {
    return [...this.#observer.world.findings, ...this.#late.map((words) => ({ words }))];
  }

  async run({ kills, gapMs, untilMs }: { kills: number; gapMs: number; untilMs: number }): Promise<void> {
    const { servers, signal } = this.#in;
    signal.throwIfAborted();
    const over = new AbortController();
    const stop = new AbortController();
    const journal = await followEtcd(servers.etcd, this.#observer.onWrite, stop.signal);
    const following = Promise.race([this.#observer.follow(over.signal), journal.over]);
    const interruption = new Promise<never>((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
    );
    try {
      await Promise.race([this.#all(kills, gapMs, untilMs), interruption, following]);
    } finally {
      over.abort();
      await following.finally(() => stop.abort());
    }
  }

  async #all(kills: number, gapMs: number, untilMs: number): Promise<void> {
    const { servers, kube, say, signal } = this.#in;
    await servers.startWorkers();
    await makeFleet(kube);
    await this.#settle();
    say('the fleet runs');
    const before = await lastingUids(kube);
    const idle = new AbortController();
    const working = this.#work.until(AbortSignal.any([idle.signal, signal]), ACT_MS);
    await Promise.race([this.#kill(kills, gapMs, untilMs), working.then(() => undefined)]);
    say('the kills have stopped');
    idle.abort();
    await working;
    // Servers may still be starting.
    await waitFor(() => this.#work.end(), SETTLED_MS);
    await this.#settle();
    this.#late.push(...(await lostOf(kube, before)));
    this.#failed.push(...(await failedOperations(kube)));
  }

  async #kill(kills: number, gapMs: number, untilMs: number): Promise<void> {
    const { servers, seed, signal } = this.#in;
    const random = seeded(seed);
    for (let count = 1; count <= kills && Date.now() < untilMs && !signal.aborted;) {
      await sleep(2 * gapMs * random());
      // Nothing would be done if some were always dead; but some die while others start.
      const waits = random() < ALL_UP;
      while (waits && !servers.areUp && !signal.aborted) await sleep(200);
      const victim = servers.up[Math.floor(random() * servers.up.length)];
      if (victim === undefined) continue;
      servers.kill(victim);
      this.#kills.set(victim, (this.#kills.get(victim) ?? 0) + 1);
      this.#observer.say(`${victim} is killed`);
      if (count++ % 20 === 0) this.#in.say(`${count - 1} kills; ${this.findings.length} findings`);
    }
  }

  /** Resolves when all is as wanted; what is not in time is a finding. */
  async #settle(): Promise<void> {
    const { kube, temporal, say, signal } = this.#in;
    const deadline = Date.now() + SETTLED_MS;
    let left: string[] = [];
    for (let looks = 0; Date.now() < deadline && !signal.aborted; looks++) {
      left = await unsettled(kube, temporal).catch((error: unknown) => [`it can't be read: ${String(error)}`]);
      if (left.length === 0) return;
      if (looks % 30 === 29) say(`not yet: ${left.slice(0, 5).join('; ').slice(0, 600)}`);
      await sleep(LOOK_MS);
    }
    if (!signal.aborted) this.#late.push(...left);
  }

  /** What was done, and what was found. */
  report(): string[] {
    const { world, counts } = this.#observer;
    return [
      `killed: ${formatted(this.#kills)}`,
      `asked for: ${formatted(this.#work.counts)}; got no answer: ${this.#work.failed}`,
      `writes of workers, by activity: ${formatted(counts)}`,
      `operations that have not ended well: ${this.#failed.length}`,
      ...this.#failed,
      `found: ${this.findings.length}`,
      ...world.findings.flatMap(({ at, words, before }) => [
        `${new Date(at).toISOString()} ${words}`,
        ...before.map((line) => `    ${line}`),
      ]),
      ...this.#late,
    ];
  }
}

const formatted = (counts: ReadonlyMap<string, number>): string =>
  [...counts].map(([what, count]) => `${what} ${count}`).join(', ') || 'nothing';
