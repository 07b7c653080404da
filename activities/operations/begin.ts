import { cancellationSignal } from '@temporalio/activity';
import { UID_ANNOTATION } from '../../api/names.ts';
import { chooseVms, missingOf } from '../../decisions/operations/choose.ts';
import { deleteAt, isRestored } from '../../decisions/operations/lifetime.ts';
import { limitsOf } from '../../decisions/operations/limits.ts';
import { operationResource, type OperationRef } from '../../decisions/operations/ref.ts';
import type { RunInput } from '../../decisions/operations/run-input.ts';
import type { Standing } from '../../decisions/operations/status.ts';
import { whyAborted } from '../../decisions/operations/steer.ts';
import { bytesOfNames, MAX_BYTES } from '../../decisions/power/size.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { parseWanted } from '../changes/parse-wanted.ts';
import { liveOperation } from './live-operation.ts';
import type { RunControl } from './run-control.ts';
import { scopeOf } from './scope.ts';
import { writeOperationStatus } from './write-status.ts';

/** What is to be done for an operation now. */
export type Beginning =
  /** There is no such operation: it is deleted, or never was. */
  | { is: 'missing' }
  /** `deleteAt`: when it is to be deleted, in milliseconds since the epoch; null if never. */
  | { is: 'over'; deleteAt: number | null }
  /** It is not to begin yet. */
  | { is: 'paused' }
  /** `input`: of the run that is to be started; null if there is one. */
  | { is: 'run'; input: RunInput | null };

export interface OperationActivityOptions {
  client: KubeClient;
  cache: ClusterCache;
  runs: RunControl;
  /** Aborted when the worker is asked to shut down. */
  stopping: AbortSignal;
}

/** Most VMs of one run. */
const MAX_VMS = 10_000;

/**
 * Looks at the operation, and says what is to be done. Chooses its VMs if it is to begin, and notes that in the object.
 * Safe to run again at any point: a run that was started is not started again.
 */
export async function begin({ client, cache, runs }: OperationActivityOptions, ref: OperationRef): Promise<Beginning> {
  const signal = cancellationSignal();
  const workflowId = runs.workflowId(ref);
  const operation = await liveOperation(client, ref, signal);
  if (operation === undefined || cache.isLeft(ref.namespace ?? '')) return { is: 'missing' };
  if (operation.status?.completionTime !== undefined) return over(operation);
  const write = (known: StoredOperation, end: Standing['end']) =>
    writeOperationStatus(client, ref, known, { progress: null, end, workflowId }, signal);
  const finish = async (known: StoredOperation, end: NonNullable<Standing['end']>): Promise<Beginning> => {
    const written = await write(known, end);
    return written === undefined ? { is: 'missing' } : over(written);
  };
  if ((await runs.state(ref)).is !== 'missing') return { is: 'run', input: null };
  const end = endBeforeStart(operation);
  if (end !== null) return finish(operation, end);
  const noted = await noteUid(client, operation, signal);
  if (operation.spec.paused === true) {
    await write(noted, null);
    return { is: 'paused' };
  }
  const { resourceVersion } = operation.metadata;
  await cache.catchUp({
    vms: resourceVersion,
    vmis: resourceVersion,
    pools: resourceVersion,
    replicaSets: resourceVersion,
    namespaces: resourceVersion,
  });
  const chosen = choose(cache, operation);
  if ('reason' in chosen) return finish(noted, chosen);
  await write(noted, null);
  return { is: 'run', input: inputOf(operation, chosen.vms) };
}

const over = (operation: StoredOperation): Beginning => ({ is: 'over', deleteAt: deleteAt(operation) });

/** Returns how an operation ends that has not begun, and is not to; null if it is to begin. */
function endBeforeStart(operation: StoredOperation): Standing['end'] {
  if (isRestored(operation)) {
    const message = 'it was made from a copy of an operation that had begun, and is not carried out: make a new one';
    return { reason: 'Restored', message };
  }
  const why = whyAborted(operation);
  return why === null ? null : { reason: 'Aborted', message: `no VM was touched: ${why}` };
}

/** Notes on the object which UID it has: a copy of it, by which a backup brings it back, has another. */
async function noteUid(client: KubeClient, operation: StoredOperation, signal: AbortSignal): Promise<StoredOperation> {
  const { uid, resourceVersion, annotations } = operation.metadata;
  if (annotations?.[UID_ANNOTATION] === uid) return operation;
  const patch = { metadata: { resourceVersion, uid, annotations: { [UID_ANNOTATION]: uid } } };
  return client.patch<StoredOperation>(operationResource(operation.metadata), operation.metadata, 'merge', patch, {
    signal,
  });
}

type Choice = { vms: RunInput['chosen'] } | NonNullable<Standing['end']>;

function choose(cache: ClusterCache, operation: StoredOperation): Choice {
  const scope = scopeOf(cache, operation);
  const labelsOf = (namespace: string) => cache.namespaces.get(namespace);
  const missing = missingOf({ operation, scope, vms: cache.vms.values(), labelsOf });
  if (missing !== null) return { reason: 'NotFound', message: missing };
  const wrong = whyNoPatch(operation);
  if (wrong !== null) return { reason: 'InvalidPatch', message: wrong };
  try {
    const vms = chooseVms({ operation, scope, vms: cache.vms.values(), vmiOf: (vm) => cache.vmiOf(vm) });
    const count = countOf(vms);
    const { undo } = operation.spec.patch ?? {};
    if (count === 0 && undo !== undefined && operation.status?.startTime === undefined)
      return { reason: 'NotFound', message: `no VM was touched: none of them tells of an operation ${undo}` };
    if (count <= MAX_VMS && bytesOfNames(vms) <= MAX_BYTES) return { vms };
    return {
      reason: 'TooManyVms',
      message: `${count} VMs are more than one operation may have: choose fewer by labels`,
    };
  } catch (error) {
    if (error instanceof RangeError) return { reason: 'InvalidGlob', message: error.message };
    throw error;
  }
}

const countOf = (chosen: RunInput['chosen']): number =>
  Object.values(chosen).reduce((sum, byName) => sum + Object.keys(byName).length, 0);

function whyNoPatch({ spec }: StoredOperation): string | null {
  try {
    if (spec.patch !== undefined) parseWanted(spec.patch);
    return null;
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
}

function inputOf({ metadata, spec }: StoredOperation, chosen: RunInput['chosen']): RunInput {
  const { action, reason = null, requestedBy = 'unknown' } = spec;
  const { namespace, name, uid } = metadata;
  return {
    operation: { namespace, name, uid },
    action,
    chosen,
    ...limitsOf({ spec }, countOf(chosen)),
    requestedBy,
    reason,
  };
}
