import type { Stored } from '../../../api/objects.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import type { Pool } from '../../pool/objects.ts';
import { rolloutView } from '../view.ts';
import { knownRevisions, type Revision } from './revisions.ts';

/** Caches the revisions of followed pools, and rereads them only for a template that has no revision yet. */
export class KnownRevisions {
  readonly #kube: KubeClient;
  readonly #known = new Map<string, Revision[]>();
  readonly #asked = new Set<string>();

  constructor(kube: KubeClient) {
    this.#kube = kube;
  }

  of({ metadata: { uid } }: Stored<Pool>): Revision[] {
    return this.#known.get(uid) ?? [];
  }

  async learn(pool: Stored<Pool>): Promise<void> {
    this.#known.set(pool.metadata.uid, await knownRevisions(this.#kube, pool));
  }

  /** Reads the revisions once for each template that drover has taken up. Resolves to whether it did so. */
  async catchUp(pool: Stored<Pool>): Promise<boolean> {
    const { target, phase } = rolloutView(pool, this.of(pool));
    const key = pool.metadata.uid + target.hash;
    if (target.number !== null || phase === 'Pending' || this.#asked.has(key)) return false;
    this.#asked.add(key);
    await this.learn(pool);
    return true;
  }
}
