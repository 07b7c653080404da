import { ApplicationFailure, Context } from '@temporalio/activity';
import type { OperationAction } from '../../api/operations/operation.ts';
import type { MaintenanceWindow } from '../../api/pool/pool.ts';
import { whyClosed, windowAt } from '../../decisions/lib/maintenance-windows.ts';
import { operationName, operationResource, type OperationRef } from '../../decisions/operations/ref.ts';
import { DELETED } from '../../decisions/operations/steer.ts';
import { whyHeld, whyRefused } from '../../decisions/operations/why-refused.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { CacheChange } from '../cache/objects/cache-change.ts';
import { isChangeByPeople, liveOperation } from './live-operation.ts';
import type { RunControl } from './run-control.ts';

interface AuthorityOptions {
  client: KubeClient;
  cache: Pick<ClusterCache, 'operations'>;
  runs: Pick<RunControl, 'runId'>;
}

/** Of a run, as one of its activities was told. */
interface Claimed {
  operation: OperationRef;
  action: OperationAction;
  /** Whether it has started on no VM yet. */
  isFresh: boolean;
}

/**
 * What a run acts by: the operation as the API server has it. It says what is to be done, to which VMs and within which
 * limits, whatever the input of the run: every caller who reaches Temporal may start one.
 */
export class Authority {
  /** As it was read; undefined if it is deleted, and the run is left to follow what it has begun. */
  readonly operation: StoredOperation | undefined;
  readonly #cache: AuthorityOptions['cache'];
  readonly #claimed: Claimed;

  private constructor(cache: AuthorityOptions['cache'], claimed: Claimed, operation: StoredOperation | undefined) {
    this.#cache = cache;
    this.#claimed = claimed;
    this.operation = operation;
  }

  /**
   * Reads the operation, once. Throws a `Refused` if the run has nothing to do for it, or is another than its own: each
   * run counts failures and VMs in progress, so that several would each take what one may. If the run has acted before,
   * it is left to follow what it has begun.
   */
  static async verify({ client, cache, runs }: AuthorityOptions, claimed: Claimed): Promise<Authority> {
    const { operation: ref, action, isFresh } = claimed;
    if (isRef(ref) && Context.current().info.workflowExecution?.workflowId !== runs.runId(ref))
      throw refused(`this is not the run of the ${asText(ref)}, whose workflow is ${runs.runId(ref)}`);
    const operation = isRef(ref) ? await liveOperation(client, ref) : undefined;
    if (operation === undefined && (isFresh || !isRef(ref))) throw refused(`there is no ${asText(ref)}`);
    const message = operation === undefined ? null : whyRefused(operation, action);
    if (message !== null && isFresh) throw refused(`the ${asText(ref)} ${message}`);
    return new Authority(cache, claimed, operation);
  }

  /** Why the run has nothing left to do but to follow what it has begun; null if it continues. */
  get whyOver(): string | null {
    if (this.operation === undefined) return DELETED;
    return this.operation.status?.completionTime === undefined ? null : 'the operation has ended';
  }

  /** Why nothing may be begun now, by what this worker knows; null if it may be. */
  whyHeld(): string | null {
    return whyHeld(this.#current(), this.#claimed.action);
  }

  /** The windows in which work on VMs may start; none if that may be at any time. */
  get windows(): readonly MaintenanceWindow[] {
    return this.operation?.spec.windows ?? [];
  }

  /** Why nothing may be begun that disrupts a VM, by what this worker knows; null if it may be. */
  whyNotNow(): string | null {
    const blocked = this.whyHeld();
    const window = windowAt(this.windows, Date.now());
    return blocked !== null || window.open ? blocked : whyClosed(window);
  }

  /** Whether users have changed or deleted the operation. */
  concerns(change: CacheChange): boolean {
    return change.kind === 'operation' && isChangeByPeople(change, this.#claimed.operation);
  }

  /** Undefined if it is deleted. */
  #current(): StoredOperation | undefined {
    const known = this.operation;
    if (known === undefined) return undefined;
    const { operations } = this.#cache;
    return operations.hasReached(known) ? operations.get(known.metadata) : known;
  }
}

/** The caller who starts a run may have left it out. */
const isRef = (ref: Partial<OperationRef> | null | undefined): ref is OperationRef =>
  [ref?.namespace ?? '-', ref?.name, ref?.uid].every((part) => typeof part === 'string' && part !== '');

const asText = (ref: OperationRef): string =>
  isRef(ref)
    ? `${operationResource(ref).kind} ${operationName(ref)} with the UID ${ref.uid}`
    : 'VirtualMachineOperation that the run names';

/** A failure that ends the run. `why`: a sentence without a full stop. */
export const runRefused = (message: string): ApplicationFailure => ApplicationFailure.nonRetryable(message, 'Refused');

const refused = (message: string): ApplicationFailure => runRefused(`${message}: make one, and drover carries it out`);
