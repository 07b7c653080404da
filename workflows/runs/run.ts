import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { ActedOn, RunChanges } from '../../activities/power/request.ts';
import type { Act, BegunAct } from '../../decisions/history/act.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { RESTORED } from '../../decisions/operations/restored.ts';
import type { PowerOutcome } from '../../decisions/power/outcome.ts';
import { withNamespaces } from '../../decisions/runs/namespaces.ts';
import type { ControlledRun, UserRequest } from '../../decisions/runs/user-request.ts';
import type { Journal } from '../history/journal.ts';
import { abort, pause, resume } from '../lib/messages.ts';
import { onSignal } from '../lib/on-signal.ts';
import { DroverNamespaces, DroverPhase } from '../lib/search-attributes.ts';

/** What every run hands to the next when its history has grown long: plain data. */
export interface RunState extends ControlledRun {
  inProgress: ActedOn[];
  /** Digest of what the last observation reported. */
  digest: string | null;
  /** Since when users may look closely: since it began, or was asked for something; milliseconds since the epoch. */
  watchedSince: number;
  /** Observations are of caches that are at least this new. */
  minVersions: ResourceVersions;
  /** Of the operation, as an observation last saw it. */
  operationVersion?: string | undefined;
  /** Namespaces in which the run has touched something; null if they are too many to list. */
  namespaces: string[] | null;
  acts: Act[];
}

/** News is told after a part of the time for which users have waited, and within these limits, in milliseconds. */
const NEWS_PART = 4;
const SOONEST_MS = 2_000;
const LATEST_MS = 30_000;

/**
 * `Checking`: before the first write. `Refused`: what that has found stands against it. `Failed`: VMs have failed; if
 * they were too many, the others were left as they are.
 */
type Phase<Working extends string> = Working | 'Checking' | 'Refused' | 'Paused' | 'Complete' | 'Failed' | 'Aborted';

/** How a check is called that comes before the first write: it changes nothing, so its end need not be waited for. */
export const CHECKING = {
  startToCloseTimeout: '30m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
  cancellationType: ActivityCancellationType.TRY_CANCEL,
} as const;

/**
 * A run that a user has started, and may pause, resume and abort, within a scope that can't be cancelled: a
 * cancellation, which the Web UI offers, is an abort, or else the run would end with VMs in flight and marks to clear.
 * One activity acts on VMs, a few at a time, and follows them; it returns when there is something to tell, or something
 * else to do. `Working`: its phases while it is neither paused nor over.
 */
export abstract class Run<Found extends RunChanges, Working extends string> {
  protected phase: Phase<Working>;
  protected readonly journal: Journal;
  readonly #state: RunState;
  #look = new CancellationScope();

  /** `pauses`, `aborts`: what pausing and aborting mean here, for Temporal's Web UI. */
  constructor(
    state: RunState,
    phase: Working,
    { journal, pauses, aborts }: { pauses: string; aborts: string; journal: Journal },
  ) {
    this.#state = state;
    this.journal = journal;
    this.phase = phase;
    const handlerOf =
      (change: (what: UserRequest) => void) =>
      ({ by = 'unknown', reason = null }: { by?: string; reason?: string | null }): void => {
        change({ by, at: new Date(Date.now()).toISOString(), reason });
        this.onRequest();
        // What is looked for was asked for under the old rules.
        this.#look.cancel();
      };
    const abortRun = handlerOf((what) => (state.aborted = what));
    onSignal(
      pause,
      pauses,
      handlerOf((what) => (state.paused = what)),
    );
    onSignal(
      resume,
      'Continue after a pause.',
      handlerOf(() => (state.paused = null)),
    );
    onSignal(abort, aborts, abortRun);
    const inTemporal = { reason: 'its cancellation was requested in Temporal' };
    void CancellationScope.current().cancelRequested.catch(() => state.aborted ?? abortRun(inTemporal));
  }

  /** The phase while the run is neither paused nor over. */
  protected abstract working(): Working;

  /** What is done to each VM, for `drover history`. */
  protected abstract recorded(): Omit<BegunAct, 'vms'>;

  /** Markdown for Temporal's Web UI. */
  protected abstract details(): string;

  /** Acts on VMs and follows them, until there is something to tell or to do. */
  protected abstract observe(): Promise<Found>;

  /** Keeps what was found, for reports. */
  protected abstract keep(found: Found): void;

  /** Keeps what has become of a VM. */
  protected abstract keepOutcome(outcome: PowerOutcome): void;

  protected abstract hasFailures(): boolean;

  /** Whether more has failed than the user allowed. */
  protected abstract isTripped(): boolean;

  protected abstract continueAsNew(): Promise<never>;

  /** Whether the run, which is over but for its pause, need not wait for the end of that. */
  protected isDone(_found: Found): boolean {
    return false;
  }

  /** What else is to be done. */
  protected act(_found: Found): Promise<void> {
    return Promise.resolve();
  }

  protected onRequest(): void {
    this.#state.watchedSince = Date.now();
    if (this.phase !== 'Checking') this.showNow();
  }

  /**
   * Finds out, before anything is written, what stands in the way; a refusal ends the run. Returns null if the run is
   * aborted meanwhile. It may be tried for long, so signals are handled meanwhile.
   */
  protected async preflight<T>(check: () => Promise<T>): Promise<T | null> {
    // A search for runs in progress finds it by the phase that its operation has started it with.
    this.phase = 'Checking';
    setCurrentDetails(this.details());
    try {
      let found: T | null = null;
      while (found === null && this.#state.aborted === null) found = await this.#unlessRequested(check);
      return found;
    } catch (error) {
      if (isCancellation(error)) throw error;
      this.show('Refused');
      const reason = error instanceof ActivityFailure ? (error.cause?.message ?? error.message) : String(error);
      throw ApplicationFailure.nonRetryable(reason, 'Refused');
    }
  }

  /** Whether the run may touch further VMs. */
  protected mayTouch(): boolean {
    return this.#state.paused === null && !this.isEnding();
  }

  protected isEnding(): boolean {
    return this.#state.aborted !== null || this.isTripped();
  }

  protected async untilOver(): Promise<void> {
    for (;;) {
      // No activity runs here. What an abandoned one has done is noted on the VMs.
      if (workflowInfo().continueAsNewSuggested) {
        this.#state.acts = this.journal.kept;
        await this.continueAsNew();
      }
      const found = await this.#found();
      if (found === 'restored') return;
      if (found === null) continue;
      this.keep(found);
      this.#record(found);
      if (!found.isOver) await this.act(found);
      else if (this.#state.paused === null || this.isEnding() || this.isDone(found)) return;
      else await this.#untilResumed();
      this.showNow();
    }
  }

  /** After how long the activity tells news, in milliseconds. */
  protected reportMs(): number {
    const { digest, watchedSince } = this.#state;
    return digest === null ? 0 : Math.min(Math.max((Date.now() - watchedSince) / NEWS_PART, SOONEST_MS), LATEST_MS);
  }

  /** Notes where the run acts: `drover history` reads the histories of no others. */
  protected touch(keys: readonly string[]): void {
    const state = this.#state;
    const namespaces = withNamespaces(state.namespaces, keys);
    if (namespaces === state.namespaces) return;
    state.namespaces = namespaces;
    upsertSearchAttributes([{ key: DroverNamespaces, value: namespaces }]);
  }

  protected learn(minVersions: ResourceVersions): void {
    this.#state.minVersions = maxVersions(this.#state.minVersions, minVersions);
  }

  protected show(phase: Phase<Working>): void {
    if (phase !== this.phase) upsertSearchAttributes([{ key: DroverPhase, value: phase }]);
    this.phase = phase;
    setCurrentDetails(this.details());
  }

  protected showNow(): void {
    this.show(this.#state.paused === null ? this.working() : 'Paused');
  }

  protected showEnd(): void {
    const end = this.hasFailures() ? 'Failed' : 'Complete';
    this.show(this.#state.aborted === null ? end : 'Aborted');
  }

  /**
   * If the API server was restored, what was done since is undone: the run fails, and its operation begins
   * anew. A pause holds that back, and what is ending just ends (`restored`).
   */
  async #found(): Promise<Found | 'restored' | null> {
    try {
      return await this.#unlessRequested(() => this.observe());
    } catch (error) {
      if (!isRestored(error)) throw error;
      await condition(() => this.mayTouch() || this.isEnding());
      if (this.isEnding()) return 'restored';
      throw error;
    }
  }

  /** Resolves with what `look` has found; null if a user asks for something meanwhile. */
  async #unlessRequested<T>(look: () => Promise<T>): Promise<T | null> {
    const scope = new CancellationScope();
    this.#look = scope;
    try {
      return await scope.run(look);
    } catch (error) {
      if (isCancellation(error) && scope.consideredCancelled && !CancellationScope.current().consideredCancelled)
        return null;
      throw error;
    }
  }

  #untilResumed(): Promise<void> {
    const state = this.#state;
    return condition(() => state.paused === null || state.aborted !== null || workflowInfo().continueAsNewSuggested);
  }

  /** Takes in which VMs were acted on, and what became of them. */
  #record({ settled, inProgress, minVersions, operationVersion }: RunChanges): void {
    const known = new Set(this.#state.inProgress.map(({ vm }) => vm));
    const begun = [...settled, ...inProgress].filter(({ vm, since }) => since !== undefined && !known.has(vm));
    const vms = begun.map(({ vm }) => vm);
    if (vms.length > 0) {
      this.touch(vms);
      const time = new Date(Math.min(...begun.map(({ since = Date.now() }) => since))).toISOString();
      this.journal.begin({ ...this.recorded(), vms, time });
    }
    this.#state.inProgress = inProgress;
    this.#state.operationVersion = operationVersion;
    this.journal.endEach({ action: this.recorded().action }, settled);
    for (const outcome of settled) this.keepOutcome(outcome);
    this.learn(minVersions);
  }
}

const isRestored = (error: unknown): boolean =>
  error instanceof ActivityFailure && error.cause instanceof ApplicationFailure && error.cause.type === RESTORED;
