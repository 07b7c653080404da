import { log } from '@temporalio/activity';
import { VirtualMachines } from '../../api/resources.ts';
import { vmView } from '../../decisions/from-object/vm.ts';
import { later, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { withinNamespaces } from '../../decisions/machine-types/scope.ts';
import { typePatch } from '../../decisions/machine-types/type-patch.ts';
import type { OperationRef } from '../../decisions/operations/ref.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isRefusal } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { patchKept } from '../lib/refuse-unkept.ts';
import { slowStart } from '../lib/slow-start.ts';
import { liveVm } from '../owners/live-vm.ts';
import type { OtherTransitions } from './other-transitions.ts';

const TRIES = 5;

export interface ClearLabelsRequest {
  /** By its UID, the transition's VMs are marked. */
  operation: OperationRef;
  /** VMs by `namespace/name`, or all VMs of some namespaces that carry the transition's mark. */
  vms: string[] | { allWithin: string[] | null };
  minVersions: ResourceVersions;
}

export interface ClearedLabels {
  /** VMs that the API server refused to change. */
  kept: { vm: string; message: string }[];
  minVersions: ResourceVersions;
}

interface ClearLabelsOptions {
  client: KubeClient;
  cache: ClusterCache;
  others: OtherTransitions;
  concurrency: number;
}

function allWithin(cache: ClusterCache, namespaces: string[] | null): VmView[] {
  const isWithin = withinNamespaces(namespaces);
  return [...cache.vms.values()].filter(({ namespace }) => isWithin(namespace) && !cache.isDelegated(namespace));
}

/**
 * Removes the transition's mark from VMs, and from the named VMs also marks of transitions that no longer run; other
 * marks stay.
 */
export async function clearTransitionLabels(
  { client, cache, others, concurrency }: ClearLabelsOptions,
  { operation: { uid: id }, vms, minVersions }: ClearLabelsRequest,
): Promise<ClearedLabels> {
  await cache.catchUp(minVersions);
  const isNamed = Array.isArray(vms);
  const all = isNamed ? vms.flatMap((key) => cache.vms.get(key) ?? []) : allWithin(cache, vms.allWithin);
  const labels = new Set(
    !isNamed ? [] : all.flatMap(({ transitionLabel: label }) => (label === null || label === id ? [] : [label])),
  );
  await others.refresh(labels);
  const goes = (label: string | null): boolean =>
    label === id || (label !== null && labels.has(label) && others.nameOf(label) === undefined);
  const kept: ClearedLabels['kept'] = [];
  let newest: string | undefined;
  const clearLabel = async (view: VmView): Promise<void> => {
    const write = async (tries: number): Promise<void> => {
      const live = tries === 1 ? undefined : await liveVm(client, view);
      if (tries > 1 && live === undefined) return;
      const vm = live === undefined ? view : vmView(live);
      if (!goes(vm.transitionLabel)) return;
      const written = await patchKept(client, VirtualMachines, view, typePatch(vm, { label: null }));
      newest = later(newest, written.metadata.resourceVersion);
    };
    try {
      await retryOnConflict(write, { tries: TRIES, isRace: isRefusal });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // A transition does not wait for a VM that can no longer be written.
      const vm = `${view.namespace}/${view.name}`;
      log.warn('a label could not be cleared', { vm, message: error.message });
      kept.push({ vm, message: `its label could not be removed: ${error.message}` });
    }
  };
  const labelled = all.filter(({ transitionLabel }) => goes(transitionLabel));
  await slowStart(labelled, clearLabel, { most: concurrency, atFirst: concurrency });
  return { kept, minVersions: { vms: newest } };
}
