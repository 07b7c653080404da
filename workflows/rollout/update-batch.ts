import {
  ActivityCancellationType,
  CancellationScope,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  proxyActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { Begun } from '../../activities/disruption/method.ts';
import type { AwaitRemovalActivities } from '../../activities/healing/await-removal.ts';
import type { PoolKey } from '../../activities/owners/owner-key.ts';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import type { RemoveRequest } from '../../activities/rollout/update-request.ts';
import type { UpdateActivities } from '../../activities/rollout/update-vms.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { Batch, BatchVm, UpdateOutcome } from '../../decisions/owners/batch.ts';
import { BLOCKS_FOR_MS } from '../../decisions/owners/removal-limit.ts';
import { numberOf } from '../../decisions/template/vm-names.ts';
import { batchEnded, poolIdOf, supersede, type PoolRef } from '../lib/messages.ts';
import { onSignal } from '../lib/on-signal.ts';
import { actingActivities, waitingActivities } from '../lib/queues.ts';
import { DroverPhase } from '../lib/search-attributes.ts';
import { batchDetails, type BatchCounts } from './batch-details.ts';

export interface UpdateBatchInput {
  ref: PoolRef;
  key: PoolKey;
  batch: Batch;
  requestedBy: string | null;
  reason: string;
  minReadyMs: number;
  deadlineMs: number;
  mayFail: number | null;
  minVersions: ResourceVersions;
  /** What a run hands to the next when its history has grown long. */
  carried?: { begun: Begun[]; counts: BatchCounts; recreated: string[] };
}

// Retried until done: what is impossible comes back as an outcome.
const { removeVms, createVms } = proxyActivities<UpdateActivities & PoolActivities>({
  startToCloseTimeout: '30m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});
const awaiting = () => waitingActivities<AwaitRemovalActivities>('20s');
const acting = () => actingActivities<UpdateActivities>();

/**
 * Brings a batch of a pool's VMs to one revision: writes it to them, restarts the VMIs that need it, one by one as the
 * disruption budget has room, and waits until each VM is available or its deadline has passed. Reports the outcomes to
 * its pool by signals, since it may outlive the run that started it.
 */
export async function updateBatch(input: UpdateBatchInput): Promise<UpdateOutcome[]> {
  const { vms } = input.batch;
  const run = new BatchRun(input);
  const wait = new CancellationScope();
  onSignal(supersede, 'Internal: another revision takes the place of this one: wait no longer.', () => {
    run.isSuperseded = true;
    wait.cancel();
  });

  const [replaced, others] = partition(vms, ({ act, name }) => act === 'replace' && !run.recreated.has(name));
  await Promise.all([
    ...(others.length === 0 ? [] : [update(run, others, wait)]),
    ...(replaced.length === 0 ? [] : [replace(run, replaced, wait)]),
  ]);
  if (run.waiting.length > 0 && !run.isSuperseded) return continueAsNew<typeof updateBatch>(await run.next());
  run.settle(run.waiting.map(({ name }) => ({ vm: name, end: 'Superseded' })));

  const phase = (run.counts.Failed ?? 0) > 0 ? 'Failed' : 'Complete';
  run.show(phase);
  upsertSearchAttributes([{ key: DroverPhase, value: phase }]);
  await run.report(false);
  return run.outcomes;
}

/** What has become of a batch so far. */
class BatchRun {
  readonly input: UpdateBatchInput;
  /** In this run, of all runs of the batch. */
  readonly outcomes: UpdateOutcome[] = [];
  readonly counts: BatchCounts;
  minVersions: ResourceVersions;
  waiting: readonly BatchVm[];
  begun: readonly Begun[];
  /** Names of VMs that were made again, and are only waited for. */
  readonly recreated: Set<string>;
  isSuperseded = false;
  #reported = 0;

  constructor(input: UpdateBatchInput) {
    this.input = input;
    this.minVersions = input.minVersions;
    this.waiting = input.batch.vms;
    this.begun = input.carried?.begun ?? [];
    this.recreated = new Set(input.carried?.recreated);
    this.counts = { ...input.carried?.counts };
  }

  /** Notes the outcomes of VMs that have none yet: a VM has one. */
  settle(ended: readonly UpdateOutcome[], newer: ResourceVersions = {}): void {
    this.minVersions = maxVersions(this.minVersions, newer);
    const waiting = new Map(this.waiting.map((vm) => [vm.name, vm]));
    for (const outcome of ended) {
      if (!waiting.delete(outcome.vm)) continue;
      this.outcomes.push(outcome);
      this.counts[outcome.end] = (this.counts[outcome.end] ?? 0) + 1;
    }
    this.waiting = [...waiting.values()];
  }

  isWaiting(name: string): boolean {
    return this.waiting.some((vm) => vm.name === name);
  }

  /** How many more VMs may fail. */
  get mayFail(): number | null {
    const failed = this.outcomes.filter(({ end, wasDown }) => end === 'Failed' && wasDown !== true).length;
    return this.input.mayFail === null ? null : Math.max(this.input.mayFail - failed, 0);
  }

  /** The phase is that of the search attribute, too. */
  show(phase: 'RollingOut' | 'Complete' | 'Failed'): void {
    const { waiting, outcomes, counts } = this;
    const { requestedBy } = this.input;
    setCurrentDetails(batchDetails(this.input.batch, { requestedBy, phase, waiting, outcomes, counts }));
  }

  /** Tells the pool what it does not know yet. */
  async report(goesOn: boolean): Promise<void> {
    const { ref, key, batch } = this.input;
    const outcomes = this.outcomes.slice(this.#reported);
    this.#reported = this.outcomes.length;
    await getExternalWorkflowHandle(poolIdOf(ref))
      .signal(batchEnded, {
        n: batch.n,
        pool: key.uid,
        outcomes,
        ...(goesOn && { goesOn }),
        minVersions: this.minVersions,
      })
      .catch((error: unknown) =>
        log.warn("the pool's workflow does not exist, so it can't be notified", { error: String(error) }),
      );
  }

  /** The input of the next run, once the history of this one has grown long. */
  async next(): Promise<UpdateBatchInput> {
    await this.report(true);
    const { waiting, begun, recreated, counts, minVersions, mayFail } = this;
    const batch = { ...this.input.batch, vms: [...waiting] };
    const carried = { begun: [...begun], counts, recreated: [...recreated] };
    return { ...this.input, batch, mayFail, minVersions, carried };
  }
}

/** Updates VMs, and waits for them, until all are done or the history has grown long. */
async function update(run: BatchRun, some: readonly BatchVm[], wait: CancellationScope): Promise<void> {
  for (let tries = 0; ; tries++) {
    const vms = some.filter(({ name }) => run.isWaiting(name));
    if (vms.length === 0 || run.isSuperseded || workflowInfo().continueAsNewSuggested) return;
    if (tries > 0) await run.report(true);
    run.show('RollingOut');
    await updateNext(run, vms, wait);
  }
}

/** Updates VMs, and waits for them, until there is something to tell. */
async function updateNext(run: BatchRun, vms: readonly BatchVm[], wait: CancellationScope): Promise<void> {
  const { reason, minReadyMs, deadlineMs } = run.input;
  const { mayFail } = run;
  const names = new Set(vms.map(({ name }) => name));
  try {
    const { begun, outcomes, ...done } = await wait.run(() =>
      acting().updateVms.executeWithOptions({ summary: summary(reason) }, [
        { ...requestOf(run, vms), minReadyMs, deadlineMs, mayFail, begun: run.begun.filter(({ vm }) => names.has(vm)) },
      ]),
    );
    run.begun = [...run.begun.filter(({ vm }) => !names.has(vm)), ...begun];
    run.settle(outcomes, done.minVersions);
  } catch (error) {
    if (!run.isSuperseded || !isCancellation(error)) throw error;
  }
}

/**
 * Replaces VMs and their disks, each by itself: one that does not go, or whose replacement is refused, holds up no
 * other. The pool counts each VM in its disruption budget from the start until the new VM is available.
 */
async function replace(run: BatchRun, planned: readonly BatchVm[], wait: CancellationScope): Promise<void> {
  run.show('RollingOut');
  const options = { summary: summary(`delete ${formatNames(planned.map(({ name }) => name))} with their disks`) };
  const removed = await removeVms.executeWithOptions(options, [requestOf(run, planned)]);
  run.settle(removed.outcomes, removed.minVersions);
  const going = planned.filter(({ name }) => run.isWaiting(name));
  await Promise.all(going.map((vm) => comeBack(run, vm, wait)));
  // What takes longer is waited for by all runs of the batch.
  await update(run, going, wait);
}

function requestOf({ input, minVersions }: BatchRun, vms: readonly BatchVm[]): RemoveRequest {
  const { n, revision, rollout, startedAt } = input.batch;
  return { key: input.key, n, revision, rollout, vms: [...vms], startedAt, minVersions };
}

/** Makes the VM again once it is gone, and waits for it. */
async function comeBack(run: BatchRun, vm: BatchVm, wait: CancellationScope): Promise<void> {
  const isGone = await awaitRemoval(run, vm, wait);
  if (run.isSuperseded) return;
  // The pool makes it again when it has gone.
  if (!isGone) return run.settle([{ vm: vm.name, end: 'Deferred', message: 'it is still being deleted', isOwn: true }]);
  await createAgain(run, vm, wait);
  if (run.isWaiting(vm.name) && !run.isSuperseded) await updateNext(run, [vm], wait);
}

/** Resolves to false if the VM does not go in time: its node may be lost, or a finalizer may hold it. */
async function awaitRemoval(run: BatchRun, { name, uid }: BatchVm, wait: CancellationScope): Promise<boolean> {
  const { key } = run.input;
  const options = { summary: summary(`wait until ${name} is gone`) };
  try {
    const seen = await wait.run(() =>
      CancellationScope.withTimeout(BLOCKS_FOR_MS, () =>
        awaiting().awaitRemoval.executeWithOptions(options, [key, { vm: name, uid }]),
      ),
    );
    run.settle([], seen);
    return true;
  } catch (error) {
    if (!isCancellation(error) || CancellationScope.current().consideredCancelled) throw error;
    return false;
  }
}

/** Creates a VM in the place of one that was deleted, unless that is refused until its deadline. */
async function createAgain(run: BatchRun, { name, role, halted }: BatchVm, wait: CancellationScope): Promise<void> {
  const { key, batch, deadlineMs } = run.input;
  const number = numberOf(key.name, name)!;
  const options = { summary: summary(`create ${name}`) };
  const how = {
    skipSlowStart: true,
    halted: halted === true ? [number] : [],
    ...(role === undefined ? {} : { role }),
    retryUntil: Date.now() + deadlineMs,
  };
  try {
    const { notWanted, nameConflicts, refused, minVersions } = await wait.run(() =>
      createVms.executeWithOptions(options, [key, [number], batch.revision, run.minVersions, how]),
    );
    const isSkipped = notWanted.length + nameConflicts.length > 0;
    run.settle(isSkipped ? [{ vm: name, end: 'Gone' }] : [], minVersions);
    // The VM is missing now, so the pool creates it.
    if (refused !== null) run.settle([{ vm: name, end: 'Failed', message: refused.message }]);
    run.recreated.add(name);
  } catch (error) {
    if (!run.isSuperseded || !isCancellation(error)) throw error;
  }
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}
