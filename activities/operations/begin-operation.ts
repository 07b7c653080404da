import { UID_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { pick } from '../../decisions/lib/json.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { scopeRules } from '../../decisions/machine-types/scope.ts';
import type { Within } from '../../decisions/machine-types/transition.ts';
import { chooseVms, missingOf } from '../../decisions/operations/choose.ts';
import { lifetimeEndsAt, isRestored } from '../../decisions/operations/lifetime.ts';
import { limitsOf } from '../../decisions/operations/limits.ts';
import { newProgress } from '../../decisions/operations/new-progress.ts';
import { operationResource, type OperationRef } from '../../decisions/operations/ref.ts';
import type { PowerRunInput, RunInput } from '../../decisions/operations/run-input.ts';
import type { OperationScope } from '../../decisions/operations/scope.ts';
import { failuresIn, type ObservedRun } from '../../decisions/operations/status.ts';
import { transitionOf } from '../../decisions/operations/transition.ts';
import { whyAborted, whyNeverOpen } from '../../decisions/operations/why-refused.ts';
import type { PowerAction } from '../../decisions/power/action.ts';
import { MAX_VMS } from '../../decisions/power/payload-bytes.ts';
import { withIndex } from '../../decisions/runs/index-set.ts';
import type { FailedVm } from '../../decisions/runs/progress.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { parseWanted } from '../changes/parse-wanted.ts';
import { requireOwnWorkflow, type WorkflowIdOf } from './authority.ts';
import { chosenIn, digestsOf } from './chosen-vms.ts';
import { liveOperation } from './live-operation.ts';
import { includedIn, scopeOf } from './scope.ts';
import { writeOperationStatus } from './write-status.ts';

/** What is to be done for an operation now. */
export type Beginning =
  /** The operation does not exist: it was deleted, or never existed. */
  | { is: 'missing' }
  /** `deleteAt`: when it is to be deleted, in milliseconds since the epoch; null if never. */
  | { is: 'over'; deleteAt: number | null }
  /** It is not to begin yet. */
  | { is: 'paused' }
  /** It is to be carried out by this. `failed`: VMs that have failed before it begins anew. */
  | { is: 'run'; input: RunInput; failed: FailedVm[] };

export interface OperationActivityOptions {
  client: KubeClient;
  cache: ClusterCache;
  workflowIdOf: WorkflowIdOf;
}

/**
 * Looks at the operation, and says what is to be done. Chooses its VMs if it is to begin, also anew, and notes that in
 * the object. Safe to run again at any point.
 */
export async function begin(
  { client, cache, workflowIdOf }: OperationActivityOptions,
  ref: OperationRef,
): Promise<Beginning> {
  requireOwnWorkflow(workflowIdOf, ref);
  const workflowId = workflowIdOf(ref);
  const operation = await liveOperation(client, ref);
  if (operation === undefined || cache.isDelegated(ref.namespace ?? '')) return { is: 'missing' };
  if (operation.status?.completionTime !== undefined) return over(operation);
  const write = (known: StoredOperation, end: ObservedRun['end'], progress: ObservedRun['progress'] = null) =>
    writeOperationStatus(client, ref, known, { progress, end, workflowId });
  const finish = async (known: StoredOperation, end: NonNullable<ObservedRun['end']>): Promise<Beginning> => {
    const written = await write(known, end);
    return written === undefined ? { is: 'missing' } : over(written);
  };
  const end = endBeforeStart(operation);
  if (end !== null) return finish(operation, end);
  // With caches from before a restore, it would choose VMs that no longer exist.
  const [recorded] = await Promise.all([recordUid(client, operation), cache.noticeRestore()]);
  if (operation.spec.paused === true && whyAborted(operation) === null) {
    await write(recorded, null);
    return { is: 'paused' };
  }
  const { names } = operation.spec.vms;
  const { namespace } = ref;
  const wanted = { namespace, ...(names && { names }), areOfOthers: true };
  const asOf = pick(await cache.catchUp(neededFor(operation), wanted), ['pools', 'vms', 'vmis']);
  const failed = failuresIn(operation);
  const input = choose(cache, operation, { asOf, failed });
  if ('end' in input) return finish(recorded, input.end);
  await write(recorded, null, newProgress(input, failed, new Date().toISOString()));
  return { is: 'run', input, failed };
}

/** What the caches must have seen before VMs are chosen, or what is named can be missing. */
function neededFor(operation: StoredOperation): ResourceVersions {
  const { action, vms } = operation.spec;
  const all = versionsAt(operation);
  // The run itself sees to it that it leaves out no VM.
  if (action === 'MachineType' && vms.names === undefined) return pick(all, ['namespaces']);
  return vms.owner === undefined ? { ...all, replicaSets: undefined, vmiSets: undefined } : all;
}

const over = (operation: StoredOperation): Beginning => ({ is: 'over', deleteAt: lifetimeEndsAt(operation) });

/**
 * Returns how an operation ends that has not begun, and is not to; null if it is to begin. What has begun before ends
 * once its VMs in progress are done.
 */
function endBeforeStart(operation: StoredOperation): ObservedRun['end'] {
  if (isRestored(operation)) {
    const message = 'it was made from a copy of an operation that had begun, and is not carried out: make a new one';
    return { reason: 'Restored', message };
  }
  if (operation.status?.startTime !== undefined) return null;
  const aborted = whyAborted(operation);
  if (aborted !== null) return { reason: 'Aborted', message: `no VM was touched: ${aborted}` };
  const fault = whyNeverOpen(operation);
  return fault === null ? null : { reason: 'Refused', message: `no VM was touched: ${fault}` };
}

/** Notes on the object which UID it has: a copy that a backup restores has another. */
async function recordUid(client: KubeClient, operation: StoredOperation): Promise<StoredOperation> {
  const { uid, resourceVersion, annotations } = operation.metadata;
  if (annotations?.[UID_ANNOTATION] === uid) return operation;
  const patch = { metadata: { resourceVersion, uid, annotations: { [UID_ANNOTATION]: uid } } };
  return client.patch<StoredOperation>(operationResource(operation.metadata), operation.metadata, 'merge', patch);
}

type Choice<Input> = Input | { end: NonNullable<ObservedRun['end']> };

interface Known {
  /** What the caches have seen. */
  asOf: ResourceVersions;
  /** VMs that have failed before the operation begins anew. */
  failed: FailedVm[];
}

/** Returns what the run is started with, or how the operation ends instead. */
function choose(cache: ClusterCache, operation: StoredOperation, known: Known): Choice<RunInput> {
  const scope = scopeOf(cache, operation);
  const labelsOf = (namespace: string) => cache.namespaces.get(namespace);
  const missing = missingOf({ operation, scope, vms: cache.vms.values(), labelsOf });
  if (missing !== null) return { end: { reason: 'NotFound', message: missing } };
  const { patch } = operation.spec;
  const wanted = patch && parseWanted(patch);
  if (wanted !== undefined && 'fault' in wanted) return { end: { reason: 'InvalidPatch', message: wanted.fault } };
  try {
    return operation.spec.action === 'MachineType'
      ? transitionInput(operation, includedIn(cache, operation))
      : powerInput(cache, operation, scope, known);
  } catch (error) {
    if (error instanceof RangeError) return { end: { reason: 'InvalidGlob', message: error.message } };
    throw error;
  }
}

function powerInput(
  cache: ClusterCache,
  operation: StoredOperation,
  scope: OperationScope,
  { asOf, failed }: Known,
): Choice<PowerRunInput> {
  const { spec, status } = operation;
  const chosen = digestsOf(
    cache.vms,
    chooseVms({
      operation,
      scope,
      vms: cache.vms.values(),
      vmiOf: (vm) => cache.vmiOf(vm),
      plugs: cache.kubevirtPlugs(),
    }),
  );
  const { count } = chosen;
  const { undo } = spec.patch ?? {};
  const noRecord = `no VM was touched: none of them has a record of an operation ${undo}`;
  if (count === 0 && undo !== undefined && status?.startTime === undefined)
    return { end: { reason: 'NotFound', message: noRecord } };
  const message = `${count} VMs are more than one operation may have: choose fewer by labels`;
  if (count > MAX_VMS) return { end: { reason: 'TooManyVms', message } };
  const action = spec.action as PowerAction;
  const { indexOf } = chosenIn(cache, action, chosen);
  const indexes = failed.flatMap(({ vm }) => indexOf(vm) ?? []);
  const ended = indexes.reduce(withIndex, '');
  return { ...commonInput(operation), action, chosen, ended, asOf, ...limitsOf({ spec }, count) };
}

/** Which VMs it is about is judged anew at each look. */
function transitionInput(operation: StoredOperation, within: Within): RunInput {
  const transition = transitionOf(operation, within);
  scopeRules(transition.scope);
  const asOf = pick(versionsAt(operation), ['vms', 'vmis', 'pools', 'namespaces']);
  return { ...commonInput(operation), action: 'MachineType', transition, asOf };
}

const versionsAt = ({ metadata: { resourceVersion } }: StoredOperation): ResourceVersions => ({
  vms: resourceVersion,
  vmis: resourceVersion,
  pools: resourceVersion,
  replicaSets: resourceVersion,
  namespaces: resourceVersion,
});

const commonInput = ({ metadata: { namespace, name, uid }, spec }: StoredOperation) => ({
  operation: { namespace, name, uid },
  requestedBy: spec.requestedBy ?? 'unknown',
  reason: spec.reason ?? null,
});
