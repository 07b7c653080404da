import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { isEarlier } from '../../decisions/lib/resource-versions.ts';
import type { OperationProgress } from '../../decisions/operations/action-report.ts';
import { operationResource, type OperationRef } from '../../decisions/operations/ref.ts';
import { withTrouble } from '../../decisions/operations/status.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { Authority, WorkflowIdOf } from './authority.ts';
import { liveOperation } from './live-operation.ts';
import { replaceStatus, writeOperationStatus } from './write-status.ts';

/** The least time between two writes of the status, in milliseconds. */
const GAP_MS = 1_000;
const OPERATIONS_KEPT = 1_000;
/** The first failures are not reported: they may be a worker that died, or a server that was briefly unavailable. */
const SILENT_TRIES = 2;

/** What is done before the first change, for users. */
export const PREFLIGHT = 'the check before the first change';

interface StatusReportsOptions {
  client: KubeClient;
  workflowIdOf: WorkflowIdOf;
}

/** Writes how operations stand, from the activities that act for them. */
export class StatusReports {
  readonly #in: StatusReportsOptions;
  readonly #writtenAt = new Map<string, number>();

  constructor(options: StatusReportsOptions) {
    this.#in = options;
  }

  /**
   * Runs an activity that reports with `tell` how the operation stands: that is written in the background, once a
   * second at most, and only the latest. A report that can't be written is dropped, since another one follows.
   */
  async during<T>(
    ref: OperationRef,
    authority: Authority,
    act: (tell: (progress: OperationProgress) => void) => Promise<T>,
  ): Promise<T> {
    const over = new AbortController();
    let latest: OperationProgress | null = null;
    let known = authority.operation;
    let writing = Promise.resolve();
    let isWriting = false;
    const writeAll = async (): Promise<void> => {
      while (latest !== null && known !== undefined && !over.signal.aborted) {
        const waitMs = (this.#writtenAt.get(ref.uid) ?? 0) + GAP_MS - Date.now();
        if (waitMs > 0) await sleep(waitMs, undefined, { signal: over.signal });
        const progress: OperationProgress = latest;
        latest = null;
        known = await this.#write(ref, newer(authority.current, known), progress);
      }
    };
    const write = async (): Promise<void> => {
      isWriting = true;
      await writeAll().catch(() => {});
      isWriting = false;
    };
    try {
      return await act((progress) => {
        latest = progress;
        if (!isWriting) writing = write();
      });
    } finally {
      over.abort();
      await writing;
    }
  }

  #write(ref: OperationRef, known: StoredOperation, progress: OperationProgress): Promise<StoredOperation | undefined> {
    this.#writtenAt.delete(ref.uid);
    this.#writtenAt.set(ref.uid, Date.now());
    for (const uid of [...this.#writtenAt.keys()].slice(0, -OPERATIONS_KEPT)) this.#writtenAt.delete(uid);
    const { client, workflowIdOf } = this.#in;
    return writeOperationStatus(client, ref, known, { progress, end: null, workflowId: workflowIdOf(ref) });
  }

  /** Runs an activity of an operation. If it keeps failing, the status says so. `activity`: what it is, for users. */
  async watching<T>(ref: OperationRef, activity: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      if (isOfActivity(error)) await this.#tellTrouble(ref, activity, error as Error).catch(() => {});
      throw error;
    }
  }

  async #tellTrouble(ref: OperationRef, activity: string, { message }: Error): Promise<void> {
    const { attempt: times, workflowExecution } = Context.current().info;
    const { client, workflowIdOf } = this.#in;
    if (times <= SILENT_TRIES || workflowExecution?.workflowId !== workflowIdOf(ref)) return;
    const operation = await liveOperation(client, ref);
    if (operation?.status === undefined || operation.status.completionTime !== undefined) return;
    const status = withTrouble(operation.status, activity, { times, message: message || 'it does not say why' });
    await replaceStatus(client, operationResource(ref), operation, status);
  }
}

/** Whether the activity itself has failed, and is tried again: not its worker, or for good. */
const isOfActivity = (error: unknown): boolean =>
  !(error instanceof CancelledFailure) &&
  !(error instanceof ApplicationFailure && (error.nonRetryable === true || error.nextRetryDelay != null));

/** What this worker knows may be older than what was written last. */
const newer = (current: StoredOperation | undefined, written: StoredOperation): StoredOperation =>
  current !== undefined && isEarlier(written.metadata.resourceVersion, current.metadata.resourceVersion)
    ? current
    : written;
