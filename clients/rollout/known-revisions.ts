import type { Stored } from '../../api/objects.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { knownRevisions, type Revision } from '../pool/revisions.ts';
import { rolloutView } from '../pool/view.ts';

/** Caches the revisions of followed pools, and reads them again while the template of a pool has none. */
export class KnownRevisions {
  readonly #kube: KubeClient;
  readonly #known = new Map<string, Revision[]>();
  /** UIDs of pools whose revisions are being read. */
  readonly #reading = new Set<string>();

  constructor(kube: KubeClient) {
    this.#kube = kube;
  }

  of({ metadata: { uid } }: Stored<Pool>): Revision[] {
    return this.#known.get(uid) ?? [];
  }

  async learn(pool: Stored<Pool>): Promise<void> {
    this.#known.set(pool.metadata.uid, await knownRevisions(this.#kube, pool));
  }

  /**
   * Reads the revisions if drover has accepted a template without a revision, or an earlier template that gets a new
   * number: it may be recorded a moment later. Resolves to whether its revision is known now, and was not before. Never
   * throws: the next change asks again.
   */
  async catchUp(pool: Stored<Pool>): Promise<boolean> {
    const { uid } = pool.metadata;
    const { phase } = rolloutView(pool);
    if (phase === 'Pending' || this.#knowsTarget(pool) || this.#reading.has(uid)) return false;
    this.#reading.add(uid);
    try {
      await this.learn(pool);
      return this.#knowsTarget(pool);
    } catch {
      return false;
    } finally {
      this.#reading.delete(uid);
    }
  }

  #knowsTarget(pool: Stored<Pool>): boolean {
    const revisions = this.of(pool);
    const { number } = rolloutView(pool, revisions).target;
    return number !== null && revisions.every((other) => other.number <= number);
  }
}
