import { ApplicationFailure, cancellationSignal, Context } from '@temporalio/activity';
import type { Chosen } from '../../decisions/disruption-budget/restart-budget.ts';
import { whyHeld, whyRefused } from '../../decisions/operations/authority.ts';
import { meantVms } from '../../decisions/operations/choose.ts';
import { limitsOf, type RunLimits } from '../../decisions/operations/limits.ts';
import { operationName, operationResource, type OperationRef } from '../../decisions/operations/ref.ts';
import type { OperationScope } from '../../decisions/operations/scope.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { parseWanted } from '../changes/parse-wanted.ts';
import type { Change } from '../changes/vm-changer.ts';
import { isChangeByPeople, liveOperation } from '../operations/live-operation.ts';
import type { RunControl } from '../operations/run-control.ts';
import { scopeOf, type ScopeCaches } from '../operations/scope.ts';
import type { ChangePowerRequest } from './request.ts';

/** Completes "it is left as it is:". */
const NOT_MEANT = 'the operation is not about it';

interface AuthorityOptions {
  client: KubeClient;
  cache: ScopeCaches & Pick<ClusterCache, 'operations' | 'subscribe' | 'vms'>;
  runs: Pick<RunControl, 'runId'>;
  request: Pick<ChangePowerRequest, 'operation' | 'action' | 'takes' | 'inProgress' | 'ended' | 'deadlineMs'>;
}

/**
 * By what a run acts: the operation as the API server has it. It says which VMs may be touched and within which limits,
 * whatever the run was started with: anybody who reaches Temporal may start one.
 */
export class Authority {
  readonly #in: AuthorityOptions;
  readonly #known: StoredOperation | undefined;
  readonly #scope: OperationScope;
  /** What `Patch` does; undefined for any other action, and if the operation is gone. */
  readonly change: Change | undefined;
  readonly #isMeant: (vm: VmView, vmi: VmiView | undefined) => boolean;

  private constructor(options: AuthorityOptions, operation: StoredOperation | undefined) {
    this.#in = options;
    this.#known = operation;
    this.change = operation === undefined ? undefined : changeOf(operation);
    this.#scope = operation === undefined ? NOWHERE : scopeOf(options.cache, operation);
    this.#isMeant = operation === undefined ? () => false : meantVms(operation, this.#scope);
  }

  /**
   * Reads the operation, once. Throws a `Refused` if the run has nothing to do for it, or is another than its own: each
   * run counts failures and VMs in progress, so that several would each take what one may. If the run has acted before,
   * it is left to follow what it has begun.
   */
  static async prove(options: AuthorityOptions): Promise<Authority> {
    const { client, runs, request } = options;
    const { operation: ref, action, takes, inProgress, ended } = request;
    if (isRef(ref) && Context.current().info.workflowExecution?.workflowId !== runs.runId(ref))
      throw refused(`this is not the run of the ${inWords(ref)}, whose workflow is ${runs.runId(ref)}`);
    const operation = isRef(ref) ? await liveOperation(client, ref, cancellationSignal()) : undefined;
    const isFresh = takes && inProgress.length === 0 && ended.length === 0;
    if (operation === undefined && isFresh) throw refused(`there is no ${inWords(ref)}`);
    const why = operation === undefined ? null : whyRefused(operation, action);
    if (why !== null && isFresh) throw refused(`the ${inWords(ref)} ${why}`);
    return new Authority(options, operation);
  }

  /** Returns the limits of a run over these VMs. */
  limits(chosen: Chosen): RunLimits {
    const { cache, request } = this.#in;
    const { deadlineMs } = request;
    if (this.#known === undefined) return { atOnce: 0, maxFailures: 0, deadlineMs };
    const { vms } = this.#known.spec;
    const names = vms.names === undefined ? null : new Set(vms.names);
    let count = 0;
    // Names that are made up must not raise a limit in percent.
    for (const key of chosen.keys()) {
      const vm = cache.vms.get(key);
      if (vm !== undefined && this.#scope.includes(vm.namespace) && (names === null || names.has(vm.name))) count++;
    }
    return limitsOf(this.#known, count);
  }

  /** Why no VM may be taken now, by what this worker knows; null if VMs may be. */
  whyHeld(): string | null {
    return whyHeld(this.#current(), this.#in.request.action);
  }

  /** Why this VM is not to be touched, ever; null if the operation is about it. */
  whyExcluded(vm: VmView, vmi: VmiView | undefined): string | null {
    return this.#isMeant(vm, vmi) ? null : NOT_MEANT;
  }

  /** Calls back when people have changed or deleted the operation. */
  subscribe(onChange: () => void): () => void {
    const { cache, request } = this.#in;
    return cache.subscribe((change) => {
      if (change.kind === 'operation' && isChangeByPeople(change, request.operation)) onChange();
    });
  }

  /** Undefined if it is deleted. */
  #current(): StoredOperation | undefined {
    const known = this.#known;
    if (known === undefined) return undefined;
    const { operations } = this.#in.cache;
    return operations.hasReached(known) ? operations.get(known.metadata) : known;
  }
}

const NOWHERE: OperationScope = { includes: () => false, owners: new Set() };

function changeOf({ metadata, spec }: StoredOperation): Change | undefined {
  const { patch, requestedBy: by = 'unknown', reason } = spec;
  if (patch === undefined) return undefined;
  const note = { id: metadata.uid, operation: metadata.name, by, ...(reason === undefined ? {} : { reason }) };
  try {
    return { wanted: parseWanted(patch), restarts: patch.restart === true, note };
  } catch (error) {
    if (error instanceof RangeError) throw refused(error.message);
    throw error;
  }
}

/** Whoever starts a run may have left it out. */
const isRef = (ref: Partial<OperationRef> | null | undefined): ref is OperationRef =>
  [ref?.namespace ?? '-', ref?.name, ref?.uid].every((part) => typeof part === 'string' && part !== '');

const inWords = (ref: OperationRef): string =>
  isRef(ref)
    ? `${operationResource(ref).kind} ${operationName(ref)} with the UID ${ref.uid}`
    : 'VirtualMachineOperation that the run names';

const refused = (why: string): ApplicationFailure =>
  ApplicationFailure.nonRetryable(`${why}: make one, and drover carries it out`, 'Refused');
