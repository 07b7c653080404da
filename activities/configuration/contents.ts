import { restartsOnChange, type Contents } from '../../decisions/configuration/older-content.ts';
import { isNamedBy } from '../../decisions/configuration/start-references.ts';
import type { OwnReference } from '../../decisions/template/references.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { NamespaceContents, type NamespaceContentsOptions } from './namespace-contents.ts';

interface ConfigurationContentsOptions extends Omit<NamespaceContentsOptions, 'namespace' | 'isNeeded' | 'onChange'> {
  /** All pools of the cluster. */
  pools: () => Iterable<StoredPool>;
  /** Called when more is known of this Secret or ConfigMap of a namespace; undefined: of any of it. */
  onChange: (namespace: string, reference: OwnReference | undefined) => void;
}

/**
 * Follows Secrets and ConfigMaps in the namespaces of pools whose VMs restart when they change, and in no others: most
 * workers have no right to.
 */
export class ConfigurationContents {
  readonly #options: ConfigurationContentsOptions;
  readonly #namespaces = new Map<string, { contents: NamespaceContents; started: Promise<void> }>();

  constructor(options: ConfigurationContentsOptions) {
    this.#options = options;
  }

  /** Must be called when a pool has come, changed or gone. */
  poolChanged(before: StoredPool | undefined, after: StoredPool | undefined): void {
    for (const pool of [before, after]) {
      const namespace = pool?.metadata.namespace;
      if (namespace !== undefined) this.#follow(namespace);
    }
  }

  /** Resolves once all that is followed is known, or it is known that it can't be. */
  async ready(): Promise<void> {
    await Promise.all([...this.#namespaces.values()].map(({ started }) => started));
  }

  /** As `ListWatch.restart`. */
  restart(): void {
    for (const { contents } of this.#namespaces.values()) contents.restart();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#namespaces.values()].map(({ contents }) => contents.stop()));
  }

  /** What the pool's plan may go by; null if nothing is known yet, or the pool doesn't ask. */
  of(pool: StoredPool): Contents | null {
    if (!restartsOnChange(pool)) return null;
    return this.#namespaces.get(pool.metadata.namespace)?.contents.contents ?? null;
  }

  #restartingPools(namespace: string): StoredPool[] {
    return [...this.#options.pools()].filter((pool) => pool.metadata.namespace === namespace && restartsOnChange(pool));
  }

  #follow(namespace: string): void {
    const followed = this.#namespaces.get(namespace);
    const isNeeded = this.#restartingPools(namespace).length > 0;
    if (isNeeded === (followed !== undefined)) return;
    if (followed !== undefined) {
      this.#namespaces.delete(namespace);
      void followed.contents.stop();
      return;
    }
    const contents = new NamespaceContents({
      ...this.#options,
      namespace,
      isNeeded: (reference) => this.#restartingPools(namespace).some((pool) => isAbout(reference, pool)),
      onChange: (reference) => this.#options.onChange(namespace, reference),
    });
    const started = contents.start();
    started.catch(() => {});
    this.#namespaces.set(namespace, { contents, started });
  }
}

/** Reports whether VMs of the pool restart when this changes. */
export const isAbout = (reference: OwnReference, pool: StoredPool): boolean =>
  restartsOnChange(pool) && isNamedBy(poolTemplate(pool.spec), reference);
