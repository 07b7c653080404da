import {
  ActivityCancellationType,
  makeContinueAsNewFunc,
  proxyActivities,
  workflowInfo,
  type ActivityInterfaceFor,
  type UntypedActivities,
  type Workflow,
} from '@temporalio/workflow';
import { queueOfObject, waitQueueOf } from './messages.ts';

/**
 * How activities that only wait are tried again. A wait lasts for days, and every worker that ends under it is an
 * attempt: the delay must not grow with their number. What an attempt itself throws says when to try again.
 */
export const WAIT_RETRY = { initialInterval: '500ms', backoffCoefficient: 1 } as const;

/** The task queue to which the workflow of an object belongs: another one once the number of shards has changed. */
export class HomeQueue {
  readonly #cluster: string;
  readonly #namespace: string | undefined;
  #queue = workflowInfo().taskQueue;

  constructor({ cluster, namespace }: { cluster: string; namespace?: string | undefined }) {
    this.#cluster = cluster;
    this.#namespace = namespace;
  }

  /** `shards`: into how many the cluster is divided now; undefined if that is not said. */
  hear(shards: number | undefined): void {
    if (shards !== undefined) this.#queue = queueOfObject(this.#cluster, this.#namespace, shards);
  }

  get isElsewhere(): boolean {
    return this.#queue !== workflowInfo().taskQueue;
  }

  /** Whether the next run should begin: because the history is long, or because this one is elsewhere. */
  get needsNewRun(): boolean {
    return workflowInfo().continueAsNewSuggested || this.isElsewhere;
  }

  /** Has the next run begin where it belongs. */
  continueAsNew<F extends Workflow>(...args: Parameters<F>): Promise<never> {
    return makeContinueAsNewFunc<F>(this.isElsewhere ? { taskQueue: this.#queue } : {})(...args);
  }
}

/**
 * Activities that only wait for VMs. They have their own task queue, so that they use no slots of activities that
 * act. They change nothing, so a cancellation need not wait for their end. `heartbeatTimeout`: how long a wait may be
 * lost with its worker.
 */
export const waitingActivities = <A = UntypedActivities>(heartbeatTimeout: '10s' | '20s'): ActivityInterfaceFor<A> =>
  onWaitQueue<A>(heartbeatTimeout, ActivityCancellationType.TRY_CANCEL);

/** Activities that act while they wait: what they have begun is brought to its end if they are cancelled. */
export const actingActivities = <A = UntypedActivities>(): ActivityInterfaceFor<A> =>
  onWaitQueue<A>('10s', ActivityCancellationType.WAIT_CANCELLATION_COMPLETED);

const onWaitQueue = <A>(
  heartbeatTimeout: '10s' | '20s',
  cancellationType: ActivityCancellationType,
): ActivityInterfaceFor<A> =>
  proxyActivities<A>({
    taskQueue: waitQueueOf(workflowInfo().taskQueue),
    startToCloseTimeout: '24h',
    heartbeatTimeout,
    retry: WAIT_RETRY,
    cancellationType,
  });
