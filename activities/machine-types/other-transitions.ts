import { Context } from '@temporalio/activity';

/** One that ran then is asked for again after so long; one that had ended has ended for ever. */
const ASK_AGAIN_MS = 20_000;

const ID = /^[0-9a-f]{8}$/;

/** What people write in the place of an id names none. */
export const isTransitionId = (text: string): boolean => ID.test(text);

/** Which of the transitions whose marks stand on VMs still run: only those keep others away. */
export class OtherTransitions {
  readonly #known = new Map<string, { runs: boolean; at: number }>();

  /** As it was when it was last asked for; one that was never asked for runs. */
  readonly runs = (id: string): boolean => this.#known.get(id)?.runs ?? true;

  /**
   * Asks Temporal about those that may have ended since, unless it has been asked within `ageMs`; `ids` are of
   * transitions in the same cluster as the current workflow's.
   */
  async refresh(ids: Iterable<string>, ageMs = ASK_AGAIN_MS): Promise<void> {
    const { client, info } = Context.current();
    const { workflowId } = info.workflowExecution!;
    const prefix = workflowId.slice(0, workflowId.lastIndexOf('/') + 1);
    for (const id of ids) {
      const known = this.#known.get(id);
      if (known !== undefined && (!known.runs || known.at + ageMs > Date.now())) continue;
      const runs = await client.workflow
        .getHandle(`${prefix}${id}`)
        .describe()
        .then(({ status }) => status.name === 'RUNNING')
        .catch((error: unknown) => {
          if ((error as Error).name === 'WorkflowNotFoundError') return false;
          throw error;
        });
      this.#known.set(id, { runs, at: Date.now() });
    }
  }
}
