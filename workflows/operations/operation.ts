import { TypedSearchAttributes, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  condition,
  continueAsNew,
  ParentClosePolicy,
  proxyActivities,
  setCurrentDetails,
  startChild,
  workflowInfo,
  WorkflowIdReusePolicy,
} from '@temporalio/workflow';
import type { Beginning, OperationActivities } from '../../activities/operations/operations.ts';
import { escapeMarkdown, inlineCode } from '../../decisions/lib/markdown.ts';
import { summary } from '../../decisions/lib/summary.ts';
import { formatAim } from '../../decisions/machine-types/transition.ts';
import { OPERATION_LABELS } from '../../decisions/operations/operation-labels.ts';
import { operationName, operationResource } from '../../decisions/operations/ref.ts';
import type { RunInput } from '../../decisions/operations/run-input.ts';
import { formatVms } from '../../decisions/runs/report.ts';
import { changed, operationRunIdOf, type OperationKey } from '../lib/messages.ts';
import { onSignal } from '../lib/on-signal.ts';
import { waitingActivities } from '../lib/queues.ts';
import { DroverCluster, DroverPhase } from '../lib/search-attributes.ts';
import { unknownObject } from '../lib/unknown-object.ts';
import type { machineTypeTransition } from '../machine-types/machine-type-transition.ts';
import type { powerVms } from '../power/power-vms.ts';

const { beginOperation, deleteOperation } = proxyActivities<OperationActivities>({
  startToCloseTimeout: '10m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});

/** Such as a time to live of years: timers must not be longer. */
const LONGEST_WAIT_MS = 24 * 3_600_000;

/**
 * Carries out an operation, of a namespace or cluster-wide: starts its run, has that do as the object says, and deletes
 * the object when its time after the end is over. All that it knows is the object's identity: what is to be done is
 * read from the API server, so that a caller who starts it without an object starts nothing.
 */
export const operation = (key: OperationKey): Promise<void> =>
  // A user who wants it to end aborts or deletes the object.
  CancellationScope.nonCancellable(() => carryOut(key));

async function carryOut(key: OperationKey): Promise<void> {
  const { cluster: _, ...ref } = key;
  const name = escapeMarkdown(operationName(ref));
  let hasChanged = false;
  onSignal(changed, 'The operation has changed: look again.', () => (hasChanged = true));
  const wait = (ms: number): Promise<unknown> => condition(() => hasChanged, Math.min(ms, LONGEST_WAIT_MS));
  for (let isKnown = false; ; isKnown = true) {
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof operation>(key);
    hasChanged = false;
    const now: Beginning = await beginOperation(ref);
    if (now.is === 'missing' && !isKnown) throw unknownObject(operationResource(ref).kind, ref, 'carries it out');
    if (now.is === 'missing') return;
    setCurrentDetails(`Operation **${name}**: **${now.is}**`);
    if (now.is === 'paused') await wait(LONGEST_WAIT_MS);
    else if (now.is === 'run') {
      if (now.input !== null) await startRun(key, now.input);
      await waitingActivities<OperationActivities>('10s').followOperation(ref);
    } else if (now.deleteAt === null) return;
    else if (now.deleteAt > Date.now()) await wait(now.deleteAt - Date.now());
    else await deleteOperation(ref);
  }
}

/**
 * Starts the run, unless there is or was one: it outlives this workflow, which finds it again by its id. Only after a
 * run that failed because the API server was restored is there another.
 */
async function startRun(key: OperationKey, input: RunInput): Promise<void> {
  const { action, requestedBy, reason } = input;
  const how = {
    workflowId: operationRunIdOf(key),
    parentClosePolicy: ParentClosePolicy.ABANDON,
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
    memo: { action, requestedBy, reason, begunAt: new Date().toISOString() },
    typedSearchAttributes: new TypedSearchAttributes([
      { key: DroverCluster, value: key.cluster },
      { key: DroverPhase, value: OPERATION_LABELS[action].doing },
    ]),
    staticSummary: summary(`${action} of ${aboutOf(input)}`),
  };
  try {
    if (input.action === 'MachineType')
      await startChild<typeof machineTypeTransition>('machineTypeTransition', { ...how, args: [input] });
    else await startChild<typeof powerVms>('powerVms', { ...how, args: [input] });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

function aboutOf(input: RunInput): string {
  if (input.action === 'MachineType') return formatAim(input.transition, inlineCode);
  return formatVms(Object.values(input.chosen).reduce((sum, names) => sum + Object.keys(names).length, 0));
}
