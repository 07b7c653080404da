import { listed } from '../../api/lib/listed.ts';
import { ownReferences, REFERENCE_RESOURCES, type OwnReference } from '../../decisions/template/references.ts';
import type { PoolTemplate } from '../../decisions/template/template.ts';
import type { NewVirtualMachine } from '../../decisions/template/vm-from-template.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isNotFound, KubeError } from '../../kubernetes/errors.ts';

/** Looks for the Secrets and ConfigMaps that each VM of a pool has for itself, and reads nothing that they hold. */
export class OwnReferences {
  readonly #client: KubeClient;
  readonly #signal: AbortSignal;
  /** Kinds that this worker may not read: then their VMs are made, and wait for them in KubeVirt. */
  readonly #hidden = new Set<OwnReference['kind']>();

  constructor(client: KubeClient, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /** Throws `KubeError` if something is missing that the VM can't start without. */
  async ensureTheyExist({ nameGeneration }: PoolTemplate, { metadata, spec }: NewVirtualMachine): Promise<void> {
    const own = ownReferences(spec, nameGeneration);
    const isThere = await Promise.all(own.map((reference) => this.#isThere(metadata.namespace, reference)));
    const missing = own.filter((_, index) => !isThere[index]).map(({ kind, name }) => `${kind} ${name}`);
    if (missing.length === 0) return;
    const words = `${listed(missing)} ${missing.length === 1 ? 'is' : 'are'} missing`;
    throw new KubeError(422, 'ReferenceMissing', `${metadata.name} is not created: ${words}`);
  }

  async #isThere(namespace: string, { kind, name }: OwnReference): Promise<boolean> {
    if (this.#hidden.has(kind)) return true;
    try {
      await this.#client.getMetadata(REFERENCE_RESOURCES[kind], { namespace, name }, { signal: this.#signal });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      if (!(error instanceof KubeError) || error.status !== 403) throw error;
      this.#hidden.add(kind);
      return true;
    }
  }
}
