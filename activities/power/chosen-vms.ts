import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { ChosenDigests, PowerRunInput } from '../../decisions/operations/run-input.ts';
import type { PowerAction } from '../../decisions/power/action.ts';
import { chosenIn, type ChoiceCache, type ChosenVms } from '../operations/chosen-vms.ts';

const RUNS_KEPT = 8;

/**
 * The VMs or VMIs that a workflow was started for, as its activities need them: all of them, to count which are not
 * ready. So much with every call would fill its history, so it is read from its input, once for each run and worker.
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
    const { workflowId, runId } = info.workflowExecution!;
    const reading = this.#byRun.get(runId) ?? read(client, workflowId, runId);
    this.#byRun.set(runId, reading);
    for (const run of [...this.#byRun.keys()].slice(0, -RUNS_KEPT)) this.#byRun.delete(run);
    // A failure is not cached: the activity's next attempt asks again.
    reading.catch(() => this.#byRun.delete(runId));
    return chosenIn(this.#cache, action, await reading);
  }
}

async function read({ workflowService, options }: Client, workflowId: string, runId: string): Promise<ChosenDigests> {
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
  return payloadConverter.fromPayload<{ input: PowerRunInput }>(decoded[1]!).input.chosen;
}
