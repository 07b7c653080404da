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
import type { PoolKey } from '../../activities/owners/types.ts';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import type { AwaitActivities } from '../../activities/rollout/await-vms.ts';
import type { UpdateActivities } from '../../activities/rollout/update-vms.ts';
import { escapeMarkdown } from '../../decisions/lib/markdown.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { Batch, BatchVm, UpdateOutcome } from '../../decisions/rollout/batch.ts';
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
const { updateVms, removeVms, createVms } = proxyActivities<UpdateActivities & PoolActivities>({
  startToCloseTimeout: '30m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});
const awaiting = () => waitingActivities<AwaitActivities>('20s');

/**
 * Brings a batch of a pool's VMs to one revision: writes it to them, restarts the VMIs that need it, and waits until
 * each VM is available or its deadline has passed. Reports the outcomes to its pool by a signal, since it may outlive
 * the run that started it.
 */
export async function updateBatch(input: UpdateBatchInput): Promise<UpdateOutcome[]> {
  const { ref, key, batch, reason, minVersions } = input;
  const { revision, rollout, vms, startedAt } = batch;
  const run = new BatchRun(input);
  const wait = new CancellationScope();
  onSignal(supersede, 'Another revision takes the place of this one: wait no longer.', () => {
    run.isSuperseded = true;
    wait.cancel();
  });

  run.show('writes the new spec and restarts what needs it');
  const request = { key, revision, rollout, vms, startedAt, minVersions };
  const begun = await updateVms.executeWithOptions({ summary: summary(reason) }, [request]);
  run.settle(begun.outcomes, begun.minVersions);
  const replaced = run.waiting.filter(({ act }) => act === 'replace');
  if (replaced.length > 0) {
    run.show('replaces VMs and their disks');
    await replace(run, replaced);
  }
  if (run.waiting.length > 0 && !run.isSuperseded) {
    run.show('waits for its VMs');
    await awaitAll(run, wait);
  }
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

  settle(ended: readonly UpdateOutcome[], newer: ResourceVersions = {}): void {
    this.outcomes.push(...ended);
    this.minVersions = maxVersions(this.minVersions, newer);
    const names = new Set(ended.map(({ vm }) => vm));
    this.waiting = this.waiting.filter(({ name }) => !names.has(name));
  }

  show(doing: string): void {
    setCurrentDetails(detailsOf(this.input, doing, this.waiting, this.outcomes));
  }
}

/** Waits until each VM is available or its deadline has passed, or the batch is superseded. */
async function awaitAll(run: BatchRun, wait: CancellationScope): Promise<void> {
  const { key, batch, minReadyMs, deadlineMs } = run.input;
  const vms = [...run.waiting];
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
 * Replaces VMs and their disks. The pool counts each VM in its disruption budget from the start until the new VM is
 * available.
 */
async function replace(run: BatchRun, planned: readonly BatchVm[]): Promise<void> {
  const { key } = run.input;
  const {
    refused,
    deferred = [],
    minVersions: removed,
  } = await removeVms.executeWithOptions(
    { summary: summary(`delete ${formatNames(planned.map(({ name }) => name))} with their disks`) },
    [key, planned.map(({ name, uid }) => ({ name, uid }))],
  );
  run.settle(
    refused.map(({ name, why }) => ({ vm: name, end: 'Failed', why: `it can not be deleted: ${why}` })),
    removed,
  );
  run.settle(
    deferred.map(({ name, why }) => ({ vm: name, end: 'Deferred', why })),
    removed,
  );
  const active = new Set([...refused, ...deferred].map(({ name }) => name));
  const vms = planned.filter(({ name }) => !active.has(name));
  for (const role of [undefined, 'Standby', 'Surge'] as const) {
    const some = vms.filter((vm) => vm.role === role);
    if (some.length > 0) await createAgain(run, some, removed);
  }
}

/** Creates VMs in the place of those that were deleted. `removed`: what a cache must have reached to show that. */
async function createAgain(run: BatchRun, vms: readonly BatchVm[], removed: ResourceVersions): Promise<void> {
  const { key, batch, deadlineMs } = run.input;
  const numbersOf = (some: readonly BatchVm[]): number[] => some.map(({ name }) => numberOf(key.name, name)!);
  const role = vms[0]!.role;
  const halted = numbersOf(vms.filter((vm) => vm.halted === true));
  const how = { skipSlowStart: true, halted, ...(role === undefined ? {} : { role }) };
  for (let tries = 1; ; tries++) {
    const made = await createVms.executeWithOptions(
      { summary: summary(`create ${formatNames(vms.map(({ name }) => name))}`) },
      [key, numbersOf(vms), batch.revision, removed, how],
    );
    run.settle(
      [...made.notWanted, ...made.nameConflicts].map((name) => ({ vm: name, end: 'Gone' })),
      made.minVersions,
    );
    if (made.refused === null) return;
    const why = made.refused.message;
    // These VMs are missing now, so the pool creates them.
    if (run.isSuperseded || tries * REPLACE_AGAIN_MS > deadlineMs)
      return run.settle(vms.map(({ name }) => ({ vm: name, end: 'Failed', why })));
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
