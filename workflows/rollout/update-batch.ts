import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  proxyActivities,
  setCurrentDetails,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { AwaitRemovalActivities } from '../../activities/healing/await-removal.ts';
import type { PoolKey } from '../../activities/owners/types.ts';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import type { AwaitActivities } from '../../activities/rollout/await-vms.ts';
import type { UpdateActivities, UpdateRequest } from '../../activities/rollout/update-vms.ts';
import { escapeMarkdown } from '../../decisions/lib/markdown.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { Batch, BatchVm, UpdateOutcome } from '../../decisions/rollout/batch.ts';
import { HOLDS_UP_MS } from '../../decisions/scaling/room.ts';
import { numberOf } from '../../decisions/scaling/vm-names.ts';
import { onSignal } from '../handlers.ts';
import { batchEnded, poolIdOf, supersede, type PoolRef } from '../messages.ts';
import { waitingActivities } from '../queues.ts';
import { DroverPhase } from '../search-attributes.ts';

export interface UpdateBatchInput {
  ref: PoolRef;
  key: PoolKey;
  batch: Batch;
  requestedBy: string | null;
  reason: string;
  minReadyMs: number;
  deadlineMs: number;
  minVersions: ResourceVersions;
}

// Retried until done: what is impossible comes back as an outcome.
const { updateVms, migrateVms, removeVms, createVms } = proxyActivities<UpdateActivities & PoolActivities>({
  startToCloseTimeout: '30m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});
const awaiting = () => waitingActivities<AwaitActivities & AwaitRemovalActivities>('20s');

/**
 * Brings a batch of a pool's VMs to one revision: writes it to them, restarts the VMIs that need it, and waits until
 * each VM is available or its deadline has passed. Reports the outcomes to its pool by a signal, since it may outlive
 * the run that started it.
 */
export async function updateBatch(input: UpdateBatchInput): Promise<UpdateOutcome[]> {
  const { ref, key, batch } = input;
  const { vms } = batch;
  const run = new BatchRun(input);
  const wait = new CancellationScope();
  onSignal(supersede, 'Internal: another revision takes the place of this one: wait no longer.', () => {
    run.isSuperseded = true;
    wait.cancel();
  });

  const replaced = vms.filter(({ act }) => act === 'replace');
  const migrated = vms.filter(({ act }) => act === 'migrate');
  const others = vms.filter(({ act }) => act !== 'replace' && act !== 'migrate');
  await Promise.all([
    ...(others.length === 0 ? [] : [update(run, others, wait)]),
    ...(migrated.length === 0 ? [] : [migrate(run, migrated, wait)]),
    ...(replaced.length === 0 ? [] : [replace(run, replaced, wait)]),
  ]);
  run.settle(run.waiting.map(({ name }) => ({ vm: name, end: 'Superseded' })));

  run.show('has ended');
  const { outcomes } = run;
  upsertSearchAttributes([
    { key: DroverPhase, value: outcomes.some(({ end }) => end === 'Failed') ? 'Failed' : 'Complete' },
  ]);
  await getExternalWorkflowHandle(poolIdOf(ref))
    .signal(batchEnded, { n: batch.n, pool: key.uid, outcomes, minVersions: run.minVersions })
    .catch((error: unknown) =>
      log.warn("the pool's workflow does not exist, so it can't be notified of the end", { error: String(error) }),
    );
  return outcomes;
}

/** What has become of a batch so far. */
class BatchRun {
  readonly input: UpdateBatchInput;
  readonly outcomes: UpdateOutcome[] = [];
  minVersions: ResourceVersions;
  waiting: readonly BatchVm[];
  isSuperseded = false;

  constructor(input: UpdateBatchInput) {
    this.input = input;
    this.minVersions = input.minVersions;
    this.waiting = input.batch.vms;
  }

  /** Notes the outcomes of VMs that have none yet: a VM has one. */
  settle(ended: readonly UpdateOutcome[], newer: ResourceVersions = {}): void {
    this.minVersions = maxVersions(this.minVersions, newer);
    for (const outcome of ended) {
      if (!this.isWaiting(outcome.vm)) continue;
      this.outcomes.push(outcome);
      this.waiting = this.waiting.filter(({ name }) => name !== outcome.vm);
    }
  }

  isWaiting(name: string): boolean {
    return this.waiting.some((vm) => vm.name === name);
  }

  show(doing: string): void {
    setCurrentDetails(detailsOf(this.input, doing, this.waiting, this.outcomes));
  }
}

/** What the activities that act on some VMs of the batch are asked. */
const requestOf = ({ input, minVersions }: BatchRun, vms: readonly BatchVm[]): UpdateRequest => {
  const { key, batch } = input;
  const { revision, rollout, startedAt } = batch;
  return { key, revision, rollout, vms: [...vms], startedAt, minVersions };
};

/** Writes the new spec to VMs, restarts what needs it, and waits for them. */
async function update(run: BatchRun, vms: readonly BatchVm[], wait: CancellationScope): Promise<void> {
  run.show('writes the new spec and restarts what needs it');
  const words = { summary: summary(run.input.reason) };
  const begun = await updateVms.executeWithOptions(words, [requestOf(run, vms)]);
  run.settle(begun.outcomes, begun.minVersions);
  run.show('waits for its VMs');
  await awaitVms(run, vms, wait);
}

/** Has VMs migrate that need a new pod, and waits for them. */
async function migrate(run: BatchRun, vms: readonly BatchVm[], wait: CancellationScope): Promise<void> {
  run.show('migrates VMs whose pods lack something');
  const words = { summary: summary(`migrate ${formatNames(vms.map(({ name }) => name))}`) };
  const begun = await migrateVms.executeWithOptions(words, [requestOf(run, vms)]);
  run.settle(begun.outcomes, begun.minVersions);
  run.show('waits for its VMs');
  await awaitVms(run, vms, wait);
}

/** Waits until each of these VMs is available or its deadline has passed, or the batch is superseded. */
async function awaitVms(run: BatchRun, some: readonly BatchVm[], wait: CancellationScope): Promise<void> {
  const { key, batch, minReadyMs, deadlineMs } = run.input;
  const vms = some.filter(({ name }) => run.isWaiting(name));
  if (vms.length === 0 || run.isSuperseded) return;
  const since = Date.now();
  try {
    const done = await wait.run(() =>
      awaiting().awaitVms.executeWithOptions(
        { summary: summary(`wait for ${formatNames(vms.map(({ name }) => name))}`) },
        [{ key, revision: batch.revision, vms, minReadyMs, since, deadlineMs, minVersions: run.minVersions }],
      ),
    );
    run.settle(done.outcomes, done.minVersions);
  } catch (error) {
    if (!run.isSuperseded || !isCancellation(error)) throw error;
  }
}

/**
 * Replaces VMs and their disks, each by itself: one that does not go, or whose replacement is refused, holds up no
 * other. The pool counts each VM in its disruption budget from the start until the new VM is available.
 */
async function replace(run: BatchRun, planned: readonly BatchVm[], wait: CancellationScope): Promise<void> {
  run.show('replaces VMs and their disks');
  const words = { summary: summary(`delete ${formatNames(planned.map(({ name }) => name))} with their disks`) };
  const removed = await removeVms.executeWithOptions(words, [requestOf(run, planned)]);
  run.settle(removed.outcomes, removed.minVersions);
  const going = planned.filter(({ name }) => run.isWaiting(name));
  await Promise.all(going.map((vm) => comeBack(run, vm, wait)));
}

/** Makes the VM again once it is gone, and waits for it. */
async function comeBack(run: BatchRun, vm: BatchVm, wait: CancellationScope): Promise<void> {
  const isGone = await awaitRemoval(run, vm, wait);
  if (run.isSuperseded) return;
  // The pool makes it again when it has gone.
  if (!isGone) return run.settle([{ vm: vm.name, end: 'Deferred', why: 'it is still being deleted', isOwn: true }]);
  if (await createAgain(run, vm)) await awaitVms(run, [vm], wait);
}

/** Resolves to false if the VM does not go in time: its node may be lost, or a finalizer may hold it. */
async function awaitRemoval(run: BatchRun, { name, uid }: BatchVm, wait: CancellationScope): Promise<boolean> {
  const { key } = run.input;
  const words = { summary: summary(`wait until ${name} is gone`) };
  try {
    const seen = await wait.run(() =>
      CancellationScope.withTimeout(HOLDS_UP_MS, () =>
        awaiting().awaitRemoval.executeWithOptions(words, [key, { vm: name, uid }]),
      ),
    );
    run.settle([], seen);
    return true;
  } catch (error) {
    if (!isCancellation(error) || CancellationScope.current().consideredCancelled) throw error;
    return false;
  }
}

/** Creates a VM in the place of one that was deleted. Resolves to false if there is none. */
async function createAgain(run: BatchRun, { name, role, halted }: BatchVm): Promise<boolean> {
  const { key, batch, deadlineMs } = run.input;
  const number = numberOf(key.name, name)!;
  const words = { summary: summary(`create ${name}`) };
  const how = {
    skipSlowStart: true,
    halted: halted === true ? [number] : [],
    ...(role === undefined ? {} : { role }),
  };
  for (let tries = 1; ; tries++) {
    const made = await createVms.executeWithOptions(words, [key, [number], batch.revision, run.minVersions, how]);
    const isLeft = made.notWanted.length + made.nameConflicts.length > 0;
    run.settle(isLeft ? [{ vm: name, end: 'Gone' }] : [], made.minVersions);
    if (made.refused === null) return !isLeft;
    // The VM is missing now, so the pool creates it.
    if (run.isSuperseded || tries * REPLACE_AGAIN_MS > deadlineMs) {
      run.settle([{ vm: name, end: 'Failed', why: made.refused.message }]);
      return false;
    }
    await condition(() => run.isSuperseded, REPLACE_AGAIN_MS);
  }
}

const REPLACE_AGAIN_MS = 10_000;

function detailsOf(
  { batch, requestedBy }: UpdateBatchInput,
  doing: string,
  waiting: readonly BatchVm[],
  outcomes: readonly UpdateOutcome[],
): string {
  const ended = outcomes.map(
    ({ vm, end, why }) => `- ${vm}: ${end}${why === undefined ? '' : `: ${escapeMarkdown(why)}`}`,
  );
  return [
    `**Batch ${batch.n}** to revision **${batch.revision}**, requested by ${escapeMarkdown(requestedBy ?? 'unknown')}: ${doing}`,
    `${outcomes.filter(({ end }) => end === 'Updated').length} of ${batch.vms.length} VMs updated`,
    waiting.length === 0 ? '' : `In progress: ${formatNames(waiting.map(({ name }) => name))}`,
    ended.join('\n'),
  ]
    .filter((line) => line !== '')
    .join('\n\n');
}
