import {
  CancelledFailure,
  getExternalWorkflowHandle,
  log,
  ParentClosePolicy,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { PoolKey } from '../../activities/owners/owner-key.ts';
import type { PlanRequest } from '../../activities/owners/plan-request.ts';
import type { KnownStatus } from '../../activities/owners/status.ts';
import { unknown } from '../../decisions/history/act.ts';
import { backoffMs } from '../../decisions/lib/backoff.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { Batch, UpdateOutcome, PlannedBatch } from '../../decisions/owners/batch.ts';
import type { PoolPlan } from '../../decisions/pool/plan.ts';
import { withTold, type RolloutSignal } from '../../decisions/rollout/signals.ts';
import { deferredAfter, stillDeferred, type DeferredVm } from '../../decisions/rollout/state/deferred.ts';
import type { Journal } from '../history/journal.ts';
import { batchEnded, pause, resume, supersede, updateBatchIdOf, type PoolRef } from '../lib/messages.ts';
import { onSignal } from '../lib/on-signal.ts';
import type { BatchEnd, ChildEnd, RequestPayload } from '../lib/payloads.ts';
import { DroverCluster, DroverNamespace, DroverPhase, DroverPool, DroverRevision } from '../lib/search-attributes.ts';
import type { InFlight } from '../owners/in-flight.ts';
import { Inbox } from '../owners/inbox.ts';
import { BatchRecords } from './batch-records.ts';
import type { updateBatch } from './update-batch.ts';

/** Plain data: each run hands it to the next. */
export interface RolloutsState {
  batches: Batch[];
  /** VMs that batches have given back for reasons of these VMs. */
  deferred: DeferredVm[];
  notBefore: number;
  /** Batches in a row of which no VM could be taken. */
  deferrals: number;
  /** What no plan has recorded yet. */
  told: RolloutSignal[];
}

interface RolloutsOptions {
  ref: PoolRef;
  state: RolloutsState | undefined;
  inProgress: InFlight;
  journal: Journal;
  /** Called when the pool must be looked at again, with the resource versions that the look must have seen. */
  onChange: (minVersions?: ResourceVersions) => void;
  /** Called with what could not be done. */
  onProblem: (message: string) => void;
}

/**
 * What a pool's workflow knows about its rollout beside the pool's status: what is in flight, and what it was told.
 */
export class Rollouts {
  state: RolloutsState;
  readonly #options: RolloutsOptions;
  readonly #inbox: Inbox<RolloutSignal>;
  readonly #records: BatchRecords;
  /** UID of the pool; null before the first look. */
  #pool: string | null = null;
  /** Numbers of batches whose VMs an earlier plan of this run was told. */
  #sentBatches = new Set<number>();

  constructor(options: RolloutsOptions) {
    this.#options = options;
    this.state = options.state ?? nothingKnown();
    this.#inbox = new Inbox(withTold, this.state.told);
    this.#records = new BatchRecords(options.ref, options.journal);
    const accept = (signal: RolloutSignal, request: RequestPayload): void => {
      options.journal.recordRequest(signal.kind, request);
      this.#inbox.add(signal);
      options.onChange();
    };
    onSignal(pause, 'Begin no further batch until resume; what restarts already comes back.', (request) =>
      accept({ kind: 'pause', ...request, at: now() }, request),
    );
    onSignal(resume, 'Continue after a pause by signal. All else is asked of the pool in Kubernetes.', (request) =>
      accept({ kind: 'resume' }, request),
    );
    onSignal(batchEnded, 'Internal: a batch of VMs has been updated.', (end) => this.#ended(end));
  }

  /** Returns what a plan needs to know. `sendsAll`: a plan of this run is made by another worker than those before. */
  request(sendsAll: boolean): Pick<PlanRequest, 'batches' | 'deferred' | 'batchesNotBefore' | 'now'> {
    const deferred = stillDeferred(this.state.deferred, Date.now());
    return {
      batches: this.state.batches.map(({ vms, ...batch }) =>
        this.#sentBatches.has(batch.n) && !sendsAll ? batch : { ...batch, vms },
      ),
      ...(deferred.length === 0 ? {} : { deferred }),
      batchesNotBefore: this.state.notBefore,
      now: Date.now(),
    };
  }

  /** Returns what a plan is to take into account. */
  told(): RolloutSignal[] {
    return this.#inbox.give();
  }

  /** Called when a plan was made, before a batch begins: none of this run need be told the VMs of the others again. */
  sent(): void {
    this.#sentBatches = new Set(this.state.batches.map(({ n }) => n));
  }

  /**
   * Takes over what a plan has found. Returns false if users asked for something meanwhile: its batch may not begin.
   */
  applyPlan({ rollout, isRecorded }: Pick<PoolPlan, 'rollout'> & KnownStatus): boolean {
    const hasMore = this.#inbox.answered(isRecorded);
    for (const n of rollout.superseded) this.#supersede(n);
    for (const n of rollout.lost) this.#giveUp(n);
    // The plan that found these batches lost still counted their VMs as in flight.
    if (rollout.lost.length > 0) this.#options.onChange();
    return !hasMore;
  }

  /** What the next run must know. */
  get carried(): RolloutsState {
    return { ...this.state, told: this.#inbox.all };
  }

  /** Starts a batch as its own workflow, which outlives this run. */
  begin(key: PoolKey, { batch: planned, reason, ...rest }: PlannedBatch, minVersions: ResourceVersions): void {
    const { ref, inProgress, onChange, onProblem } = this.#options;
    this.#pool = key.uid;
    const batch: Batch = { ...planned, startedAt: Date.now() };
    this.state.batches.push(batch);
    this.#records.begin(batch, { requestedBy: rest.requestedBy, reason });
    const { cluster, namespace, name } = ref;
    void inProgress.run({ kind: 'batch', reason }, async () => {
      try {
        const child = await startChild<typeof updateBatch>('updateBatch', {
          workflowId: updateBatchIdOf(ref, batch.revision, batch.n),
          args: [{ ref, key, batch, reason, ...rest, minVersions }],
          parentClosePolicy: ParentClosePolicy.ABANDON,
          staticSummary: summary(`Batch ${batch.n}: ${reason}`),
          typedSearchAttributes: [
            { key: DroverCluster, value: cluster },
            { key: DroverNamespace, value: namespace },
            { key: DroverPool, value: name },
            { key: DroverRevision, value: batch.revision },
            { key: DroverPhase, value: 'RollingOut' },
          ],
        });
        // A batch reports its end by a signal, since this run may be over by then. Only an end from outside is handled
        // here.
        child.result().catch((error: unknown) => this.#endedOutside(batch, String(error)));
      } catch (error) {
        if (error instanceof CancelledFailure) throw error;
        this.#records.end(batch, null);
        this.#forget(batch.n);
        this.#putOff(true);
        onProblem(`batch ${batch.n} could not be begun: ${(error as Error).message}`);
        onChange();
      }
    });
  }

  /**
   * Forgets everything, because the pool is now another of the same name, which none of the known batches belong to.
   * Keeps what was asked for since then.
   */
  reset(pool: string): void {
    for (const { n } of this.state.batches) this.#supersede(n);
    this.#pool = pool;
    this.#inbox.answered(true);
    this.state = nothingKnown();
    this.#sentBatches.clear();
  }

  /** Notes what a batch that continues has said of some of its VMs. */
  #hear(batch: Batch, outcomes: readonly UpdateOutcome[]): void {
    const ended = new Set(outcomes.map(({ vm }) => vm));
    batch.vms = batch.vms.filter(({ name }) => !ended.has(name));
    batch.heardAt = Date.now();
    this.#sentBatches.delete(batch.n);
  }

  #ended({ n, pool, outcomes, goesOn = false, minVersions }: BatchEnd): void {
    const { state } = this;
    // From an earlier pool of this name.
    if (pool !== undefined && this.#pool !== null && pool !== this.#pool) return;
    const batch = state.batches.find((one) => one.n === n);
    if (batch !== undefined) this.#records.settle(batch, outcomes);
    if (goesOn && batch !== undefined) this.#hear(batch, outcomes);
    else this.#forget(n);
    if (outcomes.some(({ end }) => end === 'Deferred'))
      this.#putOff(!goesOn && outcomes.every(({ end }) => end === 'Deferred'));
    else state.deferrals = 0;
    if (batch !== undefined) {
      const { deferred, notBefore } = deferredAfter(state.deferred, { ...batch, outcomes }, Date.now());
      Object.assign(state, { deferred, notBefore: Math.max(state.notBefore, notBefore) });
    }
    if (batch !== undefined && batch.superseded !== true) {
      const at = now();
      const failures = outcomes
        .filter(({ end }) => end === 'Failed')
        .map(({ vm, message = '', wasDown }) => ({
          vm,
          message: message.slice(0, 1024),
          at,
          ...(wasDown === true ? { wasDown: true as const } : {}),
        }));
      if (failures.length > 0) this.#inbox.add({ kind: 'fail', revision: batch.revision, failures });
    }
    this.#options.onChange(minVersions);
  }

  /** Called when a child of the pool's workflow was ended from outside, and an earlier run may have started it. */
  lost({ workflowId, endedAt }: ChildEnd): void {
    const { ref } = this.#options;
    const batch = this.state.batches.find(
      ({ revision, n, startedAt }) => updateBatchIdOf(ref, revision, n) === workflowId && startedAt <= endedAt,
    );
    if (batch !== undefined) this.#endedOutside(batch, 'found by the watch');
  }

  /** The next plan finds what it has left undone. */
  #endedOutside(batch: Batch, error: string): void {
    log.warn('a batch was ended from outside', { n: batch.n, error });
    batch.endedOutside = true;
    this.#options.onChange();
  }

  /** Delays the next batch: what stood in the way of the last one may still be there. */
  #putOff(isInARow: boolean): void {
    const { state } = this;
    state.deferrals = isInARow ? state.deferrals + 1 : 1;
    state.notBefore = Date.now() + backoffMs(state.deferrals);
  }

  #supersede(n: number): void {
    const batch = this.state.batches.find((one) => one.n === n);
    if (batch === undefined) return;
    batch.superseded = true;
    const handle = getExternalWorkflowHandle(updateBatchIdOf(this.#options.ref, batch.revision, n));
    handle
      .signal(supersede)
      .catch((error: unknown) =>
        log.info('a batch that was to be superseded has ended', { n, error: String(error), run: workflowInfo().runId }),
      );
  }

  /** Cancels a batch that may no longer act, since it is not on record or was silent for long. */
  #giveUp(n: number): void {
    const batch = this.state.batches.find((one) => one.n === n);
    this.#forget(n);
    if (batch === undefined || batch.endedOutside === true) return;
    getExternalWorkflowHandle(updateBatchIdOf(this.#options.ref, batch.revision, n))
      .cancel()
      .catch((error: unknown) => log.info('a batch that was given up has ended', { n, error: String(error) }));
    const since = new Date(batch.heardAt ?? batch.startedAt).toISOString();
    this.#options.onProblem(`batch ${n} was given up: it was last heard of at ${since}`);
  }

  #forget(n: number): void {
    for (const batch of this.state.batches)
      if (batch.n === n) this.#records.end(batch, unknown('its workflow was ended'));
    this.state.batches = this.state.batches.filter((batch) => batch.n !== n);
  }
}

const nothingKnown = (): RolloutsState => ({ batches: [], deferred: [], notBefore: 0, deferrals: 0, told: [] });

const now = (): string => new Date(Date.now()).toISOString();
