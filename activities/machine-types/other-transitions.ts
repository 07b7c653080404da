import { operationName } from '../../decisions/operations/ref.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';

/** Longer text is not a UID: users may write anything there. */
const UID_LENGTH = 63;

/** How many are remembered as over: users may write any number of ids. */
const MOST_KNOWN = 10_000;

/** Which of the operations that have marked VMs still continue: only those keep others away. */
export class OtherTransitions {
  readonly #operations: ClusterCache['operations'];
  readonly #over = new Set<string>();
  #known: { version: string; names: ReadonlyMap<string, string> } | undefined;

  constructor({ operations }: Pick<ClusterCache, 'operations'>) {
    this.#operations = operations;
  }

  /**
   * Returns the name of the operation with this UID; undefined if it is over. An operation that was not looked for yet
   * counts as running.
   */
  readonly nameOf = (id: string): string | undefined =>
    this.#names.get(id) ?? (isKnowable(id) && !this.#over.has(id) ? id : undefined);

  /** Looks for operations that are not known: they are over, or this worker has not heard of them yet. */
  async refresh(ids: Iterable<string>): Promise<void> {
    const unknown = [...ids].filter((id) => isKnowable(id) && !this.#names.has(id) && !this.#over.has(id));
    if (unknown.length === 0) return;
    await this.#operations.relist();
    if (this.#over.size > MOST_KNOWN) this.#over.clear();
    for (const id of unknown) if (!this.#names.has(id)) this.#over.add(id);
  }

  get #names(): ReadonlyMap<string, string> {
    const { version } = this.#operations;
    if (this.#known?.version === version) return this.#known.names;
    const names = new Map<string, string>();
    for (const { metadata, spec, status } of this.#operations.values())
      if (spec.action === 'MachineType' && status?.completionTime === undefined)
        names.set(metadata.uid, operationName(metadata));
    this.#known = { version, names };
    return names;
  }
}

const isKnowable = (id: string): boolean => id.length <= UID_LENGTH;
