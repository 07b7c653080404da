import {
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { ActedOn, RunChanges } from '../../activities/power/request.ts';
import { MOST_TOGETHER, type BegunAct } from '../../decisions/history/act.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { OperationProgress } from '../../decisions/operations/action-report.ts';
import { RESTORED } from '../../decisions/operations/restored.ts';
import { BY_OPERATION } from '../../decisions/operations/status.ts';
import type { PowerOutcome } from '../../decisions/power/outcome.ts';
import { withNamespaces } from '../../decisions/runs/namespaces.ts';
import type { RunOutline } from '../../decisions/runs/progress.ts';
import type { ControlledRun, UserRequest } from '../../decisions/runs/user-request.ts';
import type { Journal } from '../history/journal.ts';
import { DroverNamespaces, DroverPhase } from '../lib/search-attributes.ts';
import { runDetails } from './details.ts';

/** What every run hands to the next when its history has grown long: plain data. */
export interface RunState extends ControlledRun {
  inProgress: ActedOn[];
  /** Digest of what the last observation reported. */
  digest: string | null;
  /** Since when users may look closely: since it began, or continues after a pause; milliseconds since the epoch. */
  watchedSince: number;
  /** Observations are of caches that are at least this new. */
  minVersions: ResourceVersions;
  /** Of the operation, as an observation last saw it. */
  operationVersion?: string | undefined;
  /** Namespaces in which the run has touched something; null if they are too many to list. */
  namespaces: string[] | null;
}

export const newRunState = (): RunState => ({
  inProgress: [],
  paused: null,
  aborted: null,
  digest: null,
  watchedSince: Date.now(),
  minVersions: {},
  namespaces: [],
});

/** News is told after a part of the time for which users have waited, and within these limits, in milliseconds. */
const NEWS_PART = 4;
const SOONEST_MS = 2_000;
const LATEST_MS = 30_000;

/**
 * `Checking`: before the first write. `Refused`: what that has found stands against it. `Failed`: VMs have failed; if
 * they were too many, the others were left as they are.
 */
type Phase<Working extends string> = Working | 'Checking' | 'Refused' | 'Paused' | 'Complete' | 'Failed' | 'Aborted';

/** How activities are called that are retried until done: what is impossible comes back as an outcome. */
export const UNTIL_DONE = {
  startToCloseTimeout: '30m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
} as const;

/**
 * Why a run does nothing further. `paused`: it continues once its operation has changed. `refused`: before the first
 * write. `anew`: its operation is to be read again, since it is not as the run has it. `long`: its history is.
 */
export type Halt = { is: 'over' | 'paused' | 'anew' | 'long' } | { is: 'refused'; message: string };

/**
 * What an operation does to VMs. One activity acts on them, a few at a time, and follows them; it returns when there is
 * something to tell, or something else to do. `Working`: its phases while it is neither paused nor over.
 */
export abstract class Run<Found extends RunChanges, Working extends string> {
  protected phase: Phase<Working>;
  protected readonly journal: Journal;
  /** What it hands to the next run. */
  readonly carried: RunState;
  readonly #state: RunState;
  #isChecked: boolean;
  #shown: Phase<Working> | null = null;

  /** `isNew`: nothing was done yet. */
  constructor(state: RunState, phase: Working, { journal, isNew }: { journal: Journal; isNew: boolean }) {
    this.carried = this.#state = state;
    this.journal = journal;
    this.phase = phase;
    this.#isChecked = !isNew;
  }

  abstract get progress(): OperationProgress;

  /** Finds out, before anything is written, what stands in the way. */
  protected abstract check(): Promise<void>;

  /** The phase while the run is neither paused nor over. */
  protected abstract working(): Working;

  /** What is done to each VM, for `drover history`. */
  protected abstract recorded(): Omit<BegunAct, 'vms'>;

  protected abstract outline(): RunOutline;

  /** Acts on VMs and follows them, until there is something to tell or to do. */
  protected abstract observe(): Promise<Found>;

  /** Keeps what was found, for reports. */
  protected abstract keep(found: Found): void;

  /** Keeps what has become of a VM. */
  protected abstract keepOutcome(outcome: PowerOutcome): void;

  protected abstract hasFailures(): boolean;

  /** Whether more has failed than the user allowed. */
  protected abstract isTripped(): boolean;

  /** Whether the run, which is over but for its pause, need not wait for the end of that. */
  protected isDone(_found: Found): boolean {
    return false;
  }

  /** What else is to be done. */
  protected act(_found: Found): Promise<void> {
    return Promise.resolve();
  }

  /** What is to be done at the end. */
  protected tidyUp(): Promise<void> {
    return Promise.resolve();
  }

  async carryOut(): Promise<Halt> {
    const message = this.#isChecked ? null : await this.#preflight();
    if (message !== null) return { is: 'refused', message };
    this.#isChecked = true;
    this.showNow();
    const halt = await this.#untilHalt();
    if (halt.is !== 'over') return halt;
    await this.tidyUp();
    const end = this.hasFailures() ? 'Failed' : 'Complete';
    this.show(this.#state.aborted === null ? end : 'Aborted');
    return halt;
  }

  /** Begins again where a pause has left it. */
  resume(): void {
    Object.assign(this.#state, { watchedSince: Date.now(), digest: null });
  }

  /** Returns what stands in the way; null if nothing does. */
  async #preflight(): Promise<string | null> {
    // A search for operations in progress finds it by its phase.
    this.show('Checking');
    try {
      await this.check();
      return null;
    } catch (error) {
      if (isCancellation(error)) throw error;
      this.show('Refused');
      return error instanceof ActivityFailure ? (error.cause?.message ?? error.message) : String(error);
    }
  }

  /** Whether the run may touch further VMs. */
  protected mayTouch(): boolean {
    return this.#state.paused === null && !this.isEnding();
  }

  protected isEnding(): boolean {
    return this.#state.aborted !== null || this.isTripped();
  }

  async #untilHalt(): Promise<Halt> {
    for (;;) {
      // No activity runs here.
      if (workflowInfo().continueAsNewSuggested) return { is: 'long' };
      const found = await this.#observed();
      if (found === null) return { is: 'anew' };
      this.#record(found);
      this.keep(found);
      if (!found.isOver) await this.act(found);
      else if (this.#state.paused === null || this.isEnding() || this.isDone(found)) return { is: 'over' };
      this.showNow();
      if (found.isOver) return { is: 'paused' };
    }
  }

  /** Returns what was found; null if the operation is not as the run has it, or the API server was restored. */
  async #observed(): Promise<Found | null> {
    try {
      return await this.observe();
    } catch (error) {
      const { cause } = error as { cause?: unknown };
      if (cause instanceof ApplicationFailure && ['Refused', RESTORED].includes(cause.type ?? '')) return null;
      throw error;
    }
  }

  /** After how long the activity tells news, in milliseconds. */
  protected reportMs(): number {
    const { digest, watchedSince } = this.#state;
    return digest === null ? 0 : Math.min(Math.max((Date.now() - watchedSince) / NEWS_PART, SOONEST_MS), LATEST_MS);
  }

  /** Notes where the run acts: `drover history` reads the histories of no others. */
  protected touch(keys: readonly string[] | null): void {
    const state = this.#state;
    const namespaces = keys && withNamespaces(state.namespaces, keys);
    if (namespaces === state.namespaces) return;
    state.namespaces = namespaces;
    upsertSearchAttributes([{ key: DroverNamespaces, value: namespaces }]);
  }

  protected learn(minVersions: ResourceVersions): void {
    this.#state.minVersions = maxVersions(this.#state.minVersions, minVersions);
  }

  protected show(phase: Phase<Working>): void {
    if (phase !== this.#shown) upsertSearchAttributes([{ key: DroverPhase, value: phase }]);
    this.#shown = this.phase = phase;
    setCurrentDetails(runDetails(this.progress, this.outline()));
  }

  protected showNow(): void {
    this.show(this.#state.paused === null ? this.working() : 'Paused');
  }

  /** Takes in which VMs were acted on, what became of them, and what the operation says now. */
  #record({ settled, inProgress, held, minVersions, operationVersion }: RunChanges): void {
    const state = this.#state;
    const known = new Set(state.inProgress.map(({ vm }) => vm));
    const begun = [...settled, ...inProgress].filter(({ vm, since }) => since !== undefined && !known.has(vm));
    const vms = begun.map(({ vm }) => vm);
    if (vms.length > 0) {
      this.touch(vms);
      const time = new Date(Math.min(...begun.map(({ since = Date.now() }) => since))).toISOString();
      for (let at = 0; at < vms.length; at += MOST_TOGETHER)
        this.journal.begin({ ...this.recorded(), vms: vms.slice(at, at + MOST_TOGETHER), time });
    }
    Object.assign(state, { inProgress, operationVersion });
    if (held?.isOver === true) state.aborted ??= bySpec(held.why);
    state.paused = held?.isOver === false ? (state.paused ?? bySpec(held.why)) : null;
    this.journal.endEach({ action: this.recorded().action }, settled);
    for (const outcome of settled) this.keepOutcome(outcome);
    this.learn(minVersions);
  }
}

const bySpec = (reason: string): UserRequest => ({ by: BY_OPERATION, at: new Date(Date.now()).toISOString(), reason });
