import {
  ActivityFailure,
  CancellationScope,
  condition,
  isCancellation,
  log,
  setCurrentDetails,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { IncompleteInput } from '../../activities/owners/plan-request.ts';
import { OWNER_KINDS } from '../../api/owner-kinds.ts';
import { bytesOfOwner, unknown, type Act } from '../../decisions/history/act.ts';
import { backoffMs } from '../../decisions/lib/backoff.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { failuresOf } from '../../decisions/owners/failures.ts';
import { Journal } from '../history/journal.ts';
import { changed, type PoolRef } from '../lib/messages.ts';
import { onSignal } from '../lib/on-signal.ts';
import { HomeQueue } from '../lib/queues.ts';
import { DroverPhase } from '../lib/search-attributes.ts';
import { isToContinueAsNew } from './continue-as-new.ts';
import { FailureBackoff } from './failure-backoff.ts';
import { InFlight } from './in-flight.ts';
import { nextWait } from './next-wait.ts';
import type { CarriedOwner, OwnerOfRun, OwnerRequest, PlannedOwner } from './owner-plan.ts';
import { Statuses } from './statuses.ts';
import type { OwnerStepContext } from './steps.ts';

const PLAN_AGAIN_MS = 10_000;

/**
 * The turns of a workflow that keeps the VMs of a pool or a replica set as its spec says, for as long as that exists.
 *
 * Each turn plans the next steps and begins them, but waits for none, so that the workflow keeps answering while VMs
 * come and go. It looks again when it is signalled, when a step has ended, and when the delay after a failure has
 * passed. An owner whose VMs are all as they should be waits for signals alone: it costs nothing.
 */
export abstract class OwnerRun<P extends PlannedOwner> {
  protected readonly ref: PoolRef;
  protected readonly inProgress: InFlight;
  protected readonly failureBackoff: FailureBackoff;
  protected readonly journal: Journal;
  protected readonly home: HomeQueue;
  readonly #owner: OwnerOfRun;
  #minVersions: ResourceVersions;
  #uid: string | undefined;
  /** Whether a step has failed with an unknown part of it done. */
  #resultUnknown: boolean;
  #turnRequested = true;
  /** Turns of this run. */
  #turn = 0;
  readonly #statuses: Statuses;
  /** Failed plans in a row. */
  #failures = 0;
  #phase: PlannedOwner['phase'] | undefined;
  #generation: number | undefined;
  #wanted: number | undefined;

  constructor(ref: PoolRef, carried: CarriedOwner | undefined, owner: OwnerOfRun) {
    this.ref = ref;
    this.home = new HomeQueue(ref);
    this.#owner = owner;
    this.#minVersions = carried?.minVersions ?? {};
    this.#uid = carried?.uid;
    this.#resultUnknown = carried?.resultUnknown ?? false;
    this.#generation = carried?.generation;
    this.#wanted = carried?.wanted;
    this.journal = new Journal(carried?.acts ?? [], bytesOfOwner(0));
    this.inProgress = new InFlight();
    this.failureBackoff = new FailureBackoff(carried?.failureBackoff);
    const { inProgress, failureBackoff } = this;
    const onDue = (): void => this.requestTurn();
    this.#statuses = new Statuses({ inProgress, failureBackoff, onDue }, carried?.writes);
    onSignal(
      changed,
      `Internal: look again at the ${this.labels.owner} and its ${this.labels.members}.`,
      ({ shards, ...newer }) => {
        this.home.hear(shards);
        this.requestTurn(newer);
      },
    );
  }

  /** What sentences call the owner and its members. */
  protected get labels(): { owner: string; members: string } {
    const { noun, members } = OWNER_KINDS[this.#owner.kind];
    return { owner: noun, members: `${members.noun}s` };
  }

  /** What the activity that plans does. */
  protected get planSummary(): string {
    return `look at the ${this.labels.owner} and its ${this.labels.members}, and plan the next steps`;
  }

  /** A cancellation, which Temporal's Web UI offers, changes nothing: otherwise no workflow would manage the owner. */
  runUntilDeleted(): Promise<{ acts: Act[] }> {
    return CancellationScope.nonCancellable(() => {
      void CancellationScope.current().cancelRequested.catch(() => this.#recordCancellation());
      return this.#turns();
    });
  }

  async #turns(): Promise<{ acts: Act[] }> {
    for (;;) {
      this.#turnRequested = false;
      const { waiting } = this.failureBackoff;
      const request = this.#request();
      const planned = await this.#plan(request);
      if (planned === null) await this.#waitToPlanAgain();
      else if (!planned.gone && this.#uid !== undefined && planned.key.uid !== this.#uid) this.#reset(planned.key.uid);
      else {
        if (!planned.gone) this.#carryOut(planned, request);
        else if (this.inProgress.isEmpty && !this.#turnRequested) return { acts: this.journal.kept };
        setCurrentDetails(this.details(planned));
        await this.#continueAsNewIfLong();
        // Otherwise, a delay that held the plan back is over: it ended, the failure passed, or the spec was edited.
        if (waiting.every((reason) => this.failureBackoff.isWaiting(reason))) await this.#wait(planned);
      }
      if (this.#isToEnd) await this.#continueAsNewIfLong();
    }
  }

  /** Asks the activity for a plan. `sendsAll`: with all that it may know from earlier plans of this run, too. */
  protected abstract plan(request: OwnerRequest, sendsAll: boolean): Promise<P | { gone: true } | IncompleteInput>;
  /** Begins the plan's steps, without waiting for them. */
  protected abstract beginSteps(planned: P): void;
  /** Returns the Markdown that the Web UI shows. */
  protected abstract details(planned: P | { gone: true }): string;
  /** Discards all state of the previous owner of the same name. */
  protected abstract reset(uid: string): void;
  protected abstract continueAsNew(carried: CarriedOwner): Promise<never>;
  /** Called for each plan, before its steps begin. */
  protected onPlanned(_planned: P): void {}
  /** Called for each plan, after its steps have begun. */
  protected announce(_planned: P): void {}
  /** Whether a change of the number of VMs is recorded otherwise. */
  protected hasOwnRecord(_planned: P): boolean {
    return false;
  }
  /** Whether workflows run whose ends this run would hear of at once, and the next one later. */
  protected get hasChildren(): boolean {
    return false;
  }

  protected requestTurn(newer: ResourceVersions = {}): void {
    this.#minVersions = maxVersions(this.#minVersions, newer);
    this.#turnRequested = true;
  }

  protected stepContext({ key, generation }: P, leaving: readonly string[]): OwnerStepContext {
    return {
      key,
      generation,
      leaving: [...this.inProgress.names('deleting'), ...leaving],
      minVersions: this.#minVersions,
      inProgress: this.inProgress,
      failureBackoff: this.failureBackoff,
      journal: this.journal,
      onEnd: (newer) => {
        this.#resultUnknown ||= newer === null;
        this.requestTurn(newer ?? {});
      },
    };
  }

  #recordCancellation(): void {
    const { owner } = this.labels;
    this.failureBackoff.recordError(
      'NotCancelled',
      `its cancellation was requested in Temporal, and changes nothing as long as the ${owner} exists`,
    );
    this.requestTurn();
  }

  #request(): OwnerRequest {
    const { inProgress, failureBackoff } = this;
    return {
      namespace: this.ref.namespace,
      name: this.ref.name,
      minVersions: this.#minVersions,
      resultUnknown: this.#resultUnknown,
      inProgress: { creating: inProgress.names('creating'), deleting: inProgress.names('deleting') },
      backoffs: failureBackoff.backoffs((kind) => inProgress.has(kind)),
      ...this.#statuses.known,
      ...this.holdsStatus,
      turn: this.#turn++,
      ...(this.#uid !== undefined && { uid: this.#uid }),
    };
  }

  protected get holdsStatus(): Pick<OwnerRequest, 'holdsStatus'> {
    return this.#statuses.holds;
  }

  /** Resolves with null if no plan could be made, because the API server is down or this worker can't reach it. */
  async #plan(request: OwnerRequest): Promise<P | { gone: true } | null> {
    this.#resultUnknown = false;
    try {
      const planned = await this.plan(request, false);
      if (!('incomplete' in planned)) return planned;
      const again = await this.plan(request, true);
      if ('incomplete' in again) throw new Error('a worker that has everything asks for more');
      return again;
    } catch (error) {
      if (isCancellation(error)) throw error;
      // Errors thrown by a local activity are not always wrapped.
      const { message } = error instanceof ActivityFailure ? (error.cause ?? error) : (error as Error);
      log.warn(`the ${this.labels.owner} could not be planned`, { message });
      this.failureBackoff.recordError('NotPlanned', message);
      this.#resultUnknown ||= request.resultUnknown;
      return null;
    }
  }

  async #waitToPlanAgain(): Promise<void> {
    const delayMs = Math.min(backoffMs(++this.#failures), PLAN_AGAIN_MS);
    await sleep(delayMs, { summary: 'the delay after a failed plan' });
  }

  /** The owner was deleted and created again: what is known of the old one must not affect the new one. */
  #reset(uid: string): void {
    this.#failures = 0;
    this.#uid = uid;
    this.#generation = undefined;
    this.#wanted = undefined;
    this.failureBackoff.reset();
    this.#statuses.reset();
    this.journal.end({}, unknown(`its ${this.labels.owner} was deleted`));
    this.reset(uid);
  }

  /** `request`: what the plan was requested with. */
  #carryOut(planned: P, request: OwnerRequest): void {
    const { failureBackoff } = this;
    this.#failures = 0;
    this.#uid = planned.key.uid;
    this.onPlanned(planned);
    this.#recordCounts(planned);
    // Not the later of the two: a cluster that was restored from a backup counts from an older version.
    if (this.#minVersions === request.minVersions) this.#minVersions = planned.minVersions;
    // The next plan, perhaps on another worker, must not be based on older state than this one.
    else this.#minVersions = maxVersions(this.#minVersions, planned.minVersions);
    if (this.#generation !== undefined && planned.generation !== this.#generation) failureBackoff.tryNow();
    this.#generation = planned.generation;
    const ongoing = new Set(planned.failures.map(({ reason }) => reason));
    // A failure that came during planning is not the failure that the plan saw pass.
    for (const failure of failuresOf(request.backoffs))
      if (!ongoing.has(failure.reason)) failureBackoff.passed(failure.reason, failure);
    this.beginSteps(planned);
    this.#statuses.saw(planned);
    this.announce(planned);
    if (planned.phase !== this.#phase)
      upsertSearchAttributes([{ key: DroverPhase, value: (this.#phase = planned.phase) }]);
  }

  #recordCounts(planned: P): void {
    const { present, wanted } = planned.counts;
    this.journal.fit(present);
    const isNews = this.#wanted !== undefined && wanted !== this.#wanted && !this.hasOwnRecord(planned);
    if (isNews) this.journal.sawScaling(this.#wanted!, wanted);
    this.#wanted = wanted;
  }

  /** Has the next run continue with what this one knows: it plans at once, so that no request for a turn is lost. */
  async #continueAsNewIfLong(): Promise<void> {
    if (!this.#isToEnd) return;
    this.journal.end({ workflow: workflowInfo().workflowId }, unknown('its history has grown too long'));
    await this.continueAsNew({
      ...(this.#uid === undefined ? {} : { uid: this.#uid }),
      ...(this.#generation === undefined ? {} : { generation: this.#generation }),
      ...(this.#wanted === undefined ? {} : { wanted: this.#wanted }),
      minVersions: this.#minVersions,
      failureBackoff: this.failureBackoff.state,
      resultUnknown: this.#resultUnknown || !this.inProgress.isEmpty,
      acts: this.journal.kept,
      ...this.#statuses.known,
    });
  }

  get #isToEnd(): boolean {
    return isToContinueAsNew(this.inProgress, this.hasChildren, this.home.isElsewhere);
  }

  /** Waits until something may have changed. */
  async #wait(planned: P | { gone: true }): Promise<void> {
    const awake = (): boolean => this.#turnRequested || (planned.gone && this.inProgress.isEmpty) || this.#isToEnd;
    const requeueAt = planned.gone ? null : planned.requeueAt;
    const wait = nextWait({ requeueAt, retryAt: this.failureBackoff.retryAt, message: this.#owner.wait });
    if (wait === null) await condition(awake);
    else await condition(awake, wait.ms, { summary: wait.summary });
  }
}
