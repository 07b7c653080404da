import { Context } from '@temporalio/activity';

/** A transition that was running is asked about again after this long; a transition that has ended stays ended. */
const ASK_AGAIN_MS = 20_000;

const ID = /^[0-9a-f]{8}$/;

/** Tells ids from other text that people write in their place. */
export const isTransitionId = (text: string): boolean => ID.test(text);

/** Which of the transitions that have marked VMs still run: only those keep others away. */
export class OtherTransitions {
  readonly #known = new Map<string, { runs: boolean; at: number }>();

  /** The state when last asked; a transition that was never asked about counts as running. */
  readonly runs = (id: string): boolean => this.#known.get(id)?.runs ?? true;

  /**
   * Asks Temporal about transitions that may have ended since, unless it was asked within `ageMs`; `ids` are of
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
