import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import type { ChosenDigests, RunInput } from '../../decisions/operations/run-input.ts';
import type { PowerAction } from '../../decisions/power/action.ts';
import type { Beginning } from '../operations/begin-operation.ts';
import { chosenIn, type ChoiceCache, type ChosenVms } from '../operations/chosen-vms.ts';

const RUNS_KEPT = 8;

/** How many transactions of a history are read at once: those of a run's beginning, and no more. */
const PAGE = 10;

/**
 * The VMs or VMIs that a run of a workflow has chosen, as its activities need them: all of them, to count which are not
 * ready. So much with every call would fill its history, so it is read from there, once for each run and worker.
 */
export class ChosenVmsOfRuns {
  readonly #cache: ChoiceCache;
  readonly #byRun = new Map<string, Promise<ChosenDigests>>();

  constructor(cache: ChoiceCache) {
    this.#cache = cache;
  }

  /** Returns the VMs of the run that the current activity belongs to. */
  async ofThisRun(action: PowerAction): Promise<ChosenVms> {
    const { client, info } = Context.current();
    const execution = info.workflowExecution!;
    const { runId } = execution;
    const reading = this.#byRun.get(runId) ?? choiceOf(client, execution);
    this.#byRun.set(runId, reading);
    for (const run of [...this.#byRun.keys()].slice(0, -RUNS_KEPT)) this.#byRun.delete(run);
    // A failure is not cached: the activity's next attempt asks again.
    reading.catch(() => this.#byRun.delete(runId));
    return chosenIn(this.#cache, action, await reading);
  }
}

interface Execution {
  workflowId: string;
  runId: string;
}

async function choiceOf(client: Client, execution: Execution): Promise<ChosenDigests> {
  const input = await inputOfRun(client, execution);
  if (input === undefined || input.action === 'MachineType') throw new Error('this run of the operation chose no VMs');
  return input.chosen;
}

/**
 * Returns what a run of an operation does: it was given that by the run before it, or has begun the operation itself,
 * and has not begun it anew. Undefined if it has not begun.
 */
export async function inputOfRun(
  { workflowService, options }: Client,
  execution: Execution,
): Promise<RunInput | undefined> {
  const {
    namespace,
    loadedDataConverter: { payloadCodecs, payloadConverter },
  } = options;
  const decode = async <T>(payloads: Payload[] | null | undefined, index: number): Promise<T | null | undefined> => {
    let decoded = payloads ?? [];
    for (const codec of payloadCodecs.toReversed()) decoded = await codec.decode(decoded);
    const payload = decoded[index];
    return payload && payloadConverter.fromPayload<T>(payload);
  };
  const beginnings = new Set<string>();
  let nextPageToken: Uint8Array | undefined;
  do {
    const request = { namespace, execution, maximumPageSize: PAGE, ...(nextPageToken && { nextPageToken }) };
    const page = await workflowService.getWorkflowExecutionHistory(request);
    for (const event of page.history?.events ?? []) {
      const started = event.workflowExecutionStartedEventAttributes;
      const given = started && (await decode<{ input: RunInput }>(started.input?.payloads, 1));
      if (given) return given.input;
      if (event.activityTaskScheduledEventAttributes?.activityType?.name === 'beginOperation')
        beginnings.add(String(event.eventId));
      const done = event.activityTaskCompletedEventAttributes;
      if (!done || !beginnings.has(String(done.scheduledEventId))) continue;
      const beginning = await decode<Beginning>(done.result?.payloads, 0);
      if (beginning?.is === 'run') return beginning.input;
    }
    nextPageToken = page.nextPageToken ?? undefined;
  } while (nextPageToken !== undefined && nextPageToken.length > 0);
  return undefined;
}
