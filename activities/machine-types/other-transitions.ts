import { Context } from '@temporalio/activity';
import { slowStart } from '../lib/slow-start.ts';

/** A transition that was running is asked about again after this long; a transition that has ended stays ended. */
const ASK_AGAIN_MS = 20_000;

/** How many transitions are asked about at once, and for one look: people may write any number of ids. */
const AT_ONCE = 16;
const MOST_FOR_A_LOOK = 256;
/** How many are remembered: those that were asked about last. */
const MOST_KNOWN = 10_000;

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
   * transitions in the same cluster as the current workflow's. Of very many, some are left to the next call.
   */
  async refresh(ids: Iterable<string>, ageMs = ASK_AGAIN_MS): Promise<void> {
    const { client, info, cancellationSignal } = Context.current();
    const { workflowId } = info.workflowExecution!;
    const prefix = workflowId.slice(0, workflowId.lastIndexOf('/') + 1);
    const due = [...new Set(ids)].filter((id) => this.#isDue(id, ageMs));
    // Those that nobody has asked about yet, and those that were asked about long ago, come first.
    due.sort((one, other) => this.#askedAt(one) - this.#askedAt(other));
    const ask = async (id: string): Promise<void> => {
      const runs = await client.workflow
        .getHandle(`${prefix}${id}`)
        .describe()
        .then(({ status }) => status.name === 'RUNNING')
        .catch((error: unknown) => {
          if ((error as Error).name === 'WorkflowNotFoundError') return false;
          throw error;
        });
      this.#learn(id, runs);
    };
    const options = { most: AT_ONCE, atFirst: AT_ONCE, signal: cancellationSignal };
    await slowStart(due.slice(0, MOST_FOR_A_LOOK), ask, options);
  }

  #isDue(id: string, ageMs: number): boolean {
    const known = this.#known.get(id);
    return known === undefined || (known.runs && known.at + ageMs <= Date.now());
  }

  #askedAt(id: string): number {
    return this.#known.get(id)?.at ?? 0;
  }

  #learn(id: string, runs: boolean): void {
    this.#known.delete(id);
    this.#known.set(id, { runs, at: Date.now() });
    for (const [oldest] of this.#known) {
      if (this.#known.size <= MOST_KNOWN) break;
      this.#known.delete(oldest);
    }
  }
}
