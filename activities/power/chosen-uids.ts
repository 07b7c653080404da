import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { Chosen } from '../../decisions/disruption-budget/restart-budget.ts';
import type { PowerRunInput } from '../../decisions/operations/run-input.ts';

const RUNS_KEPT = 8;

/**
 * The VMs or VMIs that a workflow was started for, as its activities need them: all of them, to count which are not
 * ready. Thousands of names with every call would fill its history, so they are read from its input, once for each run
 * and worker.
 */
export class ChosenUids {
  readonly #byRun = new Map<string, Promise<Chosen>>();

  /** Returns the UIDs of the run that the current activity belongs to. */
  async ofThisRun(): Promise<Chosen> {
    const { client, info } = Context.current();
    const { workflowId, runId } = info.workflowExecution!;
    const known = this.#byRun.get(runId);
    if (known !== undefined) return known;
    const reading = read(client, workflowId, runId);
    this.#byRun.set(runId, reading);
    for (const run of [...this.#byRun.keys()].slice(0, -RUNS_KEPT)) this.#byRun.delete(run);
    // A failure is not cached: the activity's next attempt asks again.
    reading.catch(() => this.#byRun.delete(runId));
    return reading;
  }
}

async function read({ workflowService, options }: Client, workflowId: string, runId: string): Promise<Chosen> {
  const {
    namespace,
    loadedDataConverter: { payloadCodecs, payloadConverter },
  } = options;
  const { history } = await workflowService.getWorkflowExecutionHistory({
    namespace,
    execution: { workflowId, runId },
    maximumPageSize: 1,
  });
  const payloads = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads;
  let decoded = payloads ?? [];
  for (const codec of payloadCodecs.toReversed()) decoded = await codec.decode(decoded);
  const { input } = payloadConverter.fromPayload<{ input: PowerRunInput }>(decoded[1]!);
  const uids = new Map<string, string>();
  for (const [namespace, byName] of Object.entries(input.chosen))
    for (const [name, uid] of Object.entries(byName)) uids.set(`${namespace}/${name}`, uid);
  return uids;
}
