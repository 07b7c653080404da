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

export interface ClearMarksRequest {
  /** By its UID, the transition's VMs are marked. */
  operation: OperationRef;
  /** Those named by `namespace/name`, or all of some namespaces that carry the transition's mark. */
  vms: string[] | { allWithin: string[] | null };
  minVersions: ResourceVersions;
}

export interface ClearedMarks {
  /** VMs that the API server refused to change. */
  kept: { vm: string; message: string }[];
  minVersions: ResourceVersions;
}

interface ClearMarksOptions {
  client: KubeClient;
  cache: ClusterCache;
  others: OtherTransitions;
  concurrency: number;
}

function allWithin(cache: ClusterCache, namespaces: string[] | null): VmView[] {
  const isWithin = withinNamespaces(namespaces);
  return [...cache.vms.values()].filter(({ namespace }) => isWithin(namespace) && !cache.isLeft(namespace));
}

/**
 * Removes the transition's mark from VMs, and from the named VMs also marks of transitions that no longer run; other
 * marks stay.
 */
export async function clearMarks(
  { client, cache, others, concurrency }: ClearMarksOptions,
  { operation: { uid: id }, vms, minVersions }: ClearMarksRequest,
): Promise<ClearedMarks> {
  await cache.catchUp(minVersions);
  const isNamed = Array.isArray(vms);
  const all = isNamed ? vms.flatMap((key) => cache.vms.get(key) ?? []) : allWithin(cache, vms.allWithin);
  const marks = new Set(
    !isNamed ? [] : all.flatMap(({ transitionMark: mark }) => (mark === null || mark === id ? [] : [mark])),
  );
  await others.refresh(marks);
  const goes = (mark: string | null): boolean =>
    mark === id || (mark !== null && marks.has(mark) && others.nameOf(mark) === undefined);
  const kept: ClearedMarks['kept'] = [];
  let newest: string | undefined;
  const unmark = async (view: VmView): Promise<void> => {
    const write = async (tries: number): Promise<void> => {
      const live = tries === 1 ? undefined : await liveVm(client, view);
      if (tries > 1 && live === undefined) return;
      const vm = live === undefined ? view : vmView(live);
      if (!goes(vm.transitionMark)) return;
      const written = await patchKept(client, VirtualMachines, view, typePatch(vm, { mark: null }));
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
  const marked = all.filter(({ transitionMark }) => goes(transitionMark));
  await slowStart(marked, unmark, { most: concurrency, atFirst: concurrency });
  return { kept, minVersions: { vms: newest } };
}
