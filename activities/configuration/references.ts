import type { Stored } from '../../api/objects.ts';
import { PersistentVolumeClaims } from '../../api/resources.ts';
import type { VirtualMachine } from '../../decisions/from-object/vm.ts';
import { formatBeingDeleted, formatMissing } from '../../decisions/template/needed-references.ts';
import { REFERENCE_RESOURCES, requiredReferences, type OwnReference } from '../../decisions/template/references.ts';
import { disksOf } from '../../decisions/template/used-disks.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ActRefused, ignoreUnseen, isNotFound, KubeError } from '../../kubernetes/errors.ts';

/** Looks whether Secrets and ConfigMaps are there, and reads nothing that they hold. */
export class References {
  readonly #client: KubeClient;
  /** Kinds that this worker may not read: then VMs wait for them in KubeVirt. */
  readonly #hidden = new Set<OwnReference['kind']>();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Returns which of these are missing, in words; null if all are there, as far as this worker may know. */
  async missing(namespace: string, references: readonly OwnReference[]): Promise<string | null> {
    const isThere = await Promise.all(references.map((reference) => this.#isThere(namespace, reference)));
    const missing = references.filter((_, index) => !isThere[index]);
    return missing.length === 0 ? null : formatMissing(missing);
  }

  /** Returns the missing ones of many, by one list for each kind; none of a kind that this worker may not list. */
  async missingAmong(namespace: string, references: readonly OwnReference[]): Promise<OwnReference[]> {
    const kinds = [...new Set(references.map(({ kind }) => kind))].filter((kind) => !this.#hidden.has(kind));
    const options = { namespace, metadataOnly: true };
    const there = await Promise.all(
      kinds.map(async (kind) => {
        const list = await this.#client.list(REFERENCE_RESOURCES[kind], options).catch(unlessForbidden);
        return [kind, list && new Set(list.items.map(({ metadata }) => metadata.name))] as const;
      }),
    );
    const names = new Map(there);
    return references.filter(({ kind, name }) => names.get(kind)?.has(name) === false);
  }

  /**
   * Refuses the restart of a VM that is ready, if something is missing without which it could not start again; and that
   * of any VM that would lose a disk by it.
   */
  async refuseRestart({ spec }: Stored<VirtualMachine>, vmi: VmiView | undefined): Promise<void> {
    if (vmi === undefined) return;
    const { namespace, ready } = vmi;
    const missing = ready ? await this.missing(namespace, requiredReferences(spec)) : null;
    const message = missing ?? (await this.claimsBeingDeleted(namespace, spec));
    if (message !== null) throw new ActRefused('ReferenceMissing', `not restarted: ${message}`);
  }

  /**
   * Returns which claims of a VM are being deleted, in words; null if none are. Kubernetes keeps them, with their data,
   * only as long as a pod uses them, and KubeVirt would make empty disks in their place.
   */
  async claimsBeingDeleted(namespace: string, spec: VirtualMachine['spec']): Promise<string | null> {
    const names = [...disksOf(spec)];
    const claims = await Promise.all(
      names.map((name) => ignoreUnseen(this.#client.getMetadata(PersistentVolumeClaims, { namespace, name }))),
    );
    const going = names.filter((_, index) => claims[index]?.metadata.deletionTimestamp !== undefined);
    return going.length === 0 ? null : formatBeingDeleted(going);
  }

  async #isThere(namespace: string, { kind, name }: OwnReference): Promise<boolean> {
    if (this.#hidden.has(kind)) return true;
    try {
      await this.#client.getMetadata(REFERENCE_RESOURCES[kind], { namespace, name });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      if (!(error instanceof KubeError) || error.status !== 403) throw error;
      this.#hidden.add(kind);
      return true;
    }
  }
}

function unlessForbidden(error: unknown): undefined {
  if (!(error instanceof KubeError) || error.status !== 403) throw error;
}
