import { ApplicationFailure, Context } from '@temporalio/activity';
import type { OperationAction } from '../../api/operations/operation.ts';
import type { MaintenanceWindow } from '../../api/pool/pool.ts';
import { whyClosed, windowAt } from '../../decisions/lib/maintenance-windows.ts';
import { operationName, operationResource, type OperationRef } from '../../decisions/operations/ref.ts';
import { whyHeld, whyOver, whyRefused } from '../../decisions/operations/why-refused.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { CacheChange } from '../cache/objects/cache-change.ts';
import { isChangeByPeople, liveOperation } from './live-operation.ts';

/** Returns the id of the workflow of an operation. */
export type WorkflowIdOf = (ref: OperationRef) => string;

interface AuthorityOptions {
  client: KubeClient;
  cache: Pick<ClusterCache, 'operations'>;
  workflowIdOf: WorkflowIdOf;
}

/** What an activity was told about its run. */
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
   * Reads the operation, once. Throws a `Refused` if the workflow has nothing to do for it, or is not the operation's.
   * If the workflow has acted before, it is left to follow what it has begun.
   */
  static async verify({ client, cache, workflowIdOf }: AuthorityOptions, claimed: Claimed): Promise<Authority> {
    const { operation: ref, action, isFresh } = claimed;
    requireOwnWorkflow(workflowIdOf, ref);
    const operation = await liveOperation(client, ref);
    if (operation === undefined && isFresh) throw refused(`there is no ${asText(ref)}`);
    const message = operation === undefined ? null : whyRefused(operation, action);
    if (message !== null && isFresh) throw refused(`the ${asText(ref)} ${message}`);
    return new Authority(cache, claimed, operation);
  }

  /** Why the run only follows what it has begun, by what this worker knows; null if it continues. */
  whyOver(): string | null {
    return whyOver(this.current, this.#claimed.action);
  }

  /** Why nothing may be begun now, by what this worker knows; null if it may be. */
  whyHeld(): string | null {
    return whyHeld(this.current, this.#claimed.action);
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

  /** As this worker knows it now; undefined if it is deleted. */
  get current(): StoredOperation | undefined {
    const known = this.operation;
    if (known === undefined) return undefined;
    const { operations } = this.#cache;
    return operations.hasReached(known) ? operations.get(known.metadata) : known;
  }
}

/**
 * Throws a `Refused` if the activity is called by another workflow than that of the operation: each counts failures and
 * VMs in progress, so that several would each take what one may.
 */
export function requireOwnWorkflow(workflowIdOf: WorkflowIdOf, ref: OperationRef): void {
  if (!isRef(ref)) throw refused(`there is no ${asText(ref)}`);
  if (Context.current().info.workflowExecution?.workflowId !== workflowIdOf(ref))
    throw refused(`this is not the workflow of the ${asText(ref)}, which is ${workflowIdOf(ref)}`);
}

/** The caller who starts a workflow may have left it out. */
const isRef = (ref: Partial<OperationRef> | null | undefined): ref is OperationRef =>
  [ref?.namespace ?? '-', ref?.name, ref?.uid].every((part) => typeof part === 'string' && part !== '');

const asText = (ref: OperationRef): string =>
  isRef(ref)
    ? `${operationResource(ref).kind} ${operationName(ref)} with the UID ${ref.uid}`
    : 'VirtualMachineOperation that the workflow names';

/** A failure that ends the run. `why`: a sentence without a full stop. */
export const runRefused = (message: string): ApplicationFailure => ApplicationFailure.nonRetryable(message, 'Refused');

const refused = (message: string): ApplicationFailure => runRefused(`${message}: make one, and drover carries it out`);
