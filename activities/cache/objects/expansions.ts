import type { VmTemplate } from '../../../api/pool/pool.ts';
import { refers } from '../../../decisions/template/references.ts';
import type { PoolTemplate } from '../../../decisions/template/template.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { expandVmSpec } from '../../../kubernetes/expand-vm-spec.ts';

/** How long an answer counts: users edit instance types, and then VMs made from then on differ. */
const FRESH_MS = 60_000;
const MOST = 1_000;

interface Known {
  expanded: PoolTemplate | undefined;
  at: number;
}

/**
 * Templates of pools with what their instance types and preferences stand for in their place, as KubeVirt says: only it
 * knows which of their changes a VMI takes while it runs.
 */
export class Expansions {
  readonly #client: KubeClient;
  readonly #known = new Map<string, Known>();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /**
   * Returns what is known of the template of a revision; undefined if it refers to nothing, or KubeVirt was not asked.
   */
  known(namespace: string, revision: string): PoolTemplate | undefined {
    return this.#known.get(`${namespace}/${revision}`)?.expanded;
  }

  /**
   * Asks KubeVirt, unless it has answered within a minute. Resolves to undefined for a template that refers to nothing,
   * or if KubeVirt refuses to tell: what it refers to is gone, or the worker may not ask.
   */
  async of(namespace: string, revision: string, template: PoolTemplate): Promise<PoolTemplate | undefined> {
    if (!refers(template)) return undefined;
    const key = `${namespace}/${revision}`;
    const known = this.#known.get(key);
    if (known !== undefined && known.at > Date.now() - FRESH_MS) return known.expanded;
    const expanded = await this.#expand(namespace, template);
    if (this.#known.size >= MOST) this.#known.clear();
    this.#known.set(key, { expanded, at: Date.now() });
    return expanded;
  }

  async #expand(namespace: string, template: PoolTemplate): Promise<PoolTemplate | undefined> {
    try {
      const spec = await expandVmSpec(this.#client, namespace, template.spec);
      return { ...template, spec: spec as VmTemplate['spec'] };
    } catch (error) {
      if (error instanceof KubeError) return undefined;
      throw error;
    }
  }
}
