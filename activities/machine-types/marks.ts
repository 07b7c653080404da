import { cancellationSignal, log } from '@temporalio/activity';
import { VirtualMachines } from '../../api/resources.ts';
import { later, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { beforeOf, beforeOfView, typePatch } from '../../decisions/machine-types/type-patch.ts';
import { vmView } from '../../decisions/views/vm-from-object.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isRefusal } from '../../kubernetes/errors.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { slowStart } from '../lib/slow-start.ts';
import { liveVm } from './live-vm.ts';
import { isTransitionId, type OtherTransitions } from './other-transitions.ts';

const TRIES = 5;

export interface ClearMarksRequest {
  /** The transition's id. */
  id: string;
  /** By `namespace/name`; null for all VMs that carry the transition's mark. */
  vms: string[] | null;
  seen: ResourceVersions;
}

export interface ClearedMarks {
  /** VMs that the API server refused to change. */
  kept: { vm: string; why: string }[];
  seen: ResourceVersions;
}

export interface ClearMarksOptions {
  client: KubeClient;
  cache: ClusterCache;
  others: OtherTransitions;
  concurrency: number;
}

/**
 * Removes the transition's mark from VMs, and from the named VMs also marks of transitions that no longer run; other
 * marks stay.
 */
export async function clearMarks(
  { client, cache, others, concurrency }: ClearMarksOptions,
  { id, vms, seen }: ClearMarksRequest,
): Promise<ClearedMarks> {
  await cache.catchUp(seen);
  const all = vms === null ? [...cache.vms.values()] : vms.flatMap((key) => cache.vms.get(key) ?? []);
  const marks = new Set(
    vms === null ? [] : all.flatMap(({ transitionMark: mark }) => (mark === null || mark === id ? [] : [mark])),
  );
  await others.refresh([...marks].filter(isTransitionId));
  const goes = (mark: string | null): boolean =>
    mark === id || (mark !== null && marks.has(mark) && !(isTransitionId(mark) && others.runs(mark)));
  const kept: ClearedMarks['kept'] = [];
  let newest: string | undefined;
  const unmark = async (view: VmView): Promise<void> => {
    let vm: VmView | undefined = view;
    let before = beforeOfView(view);
    const key = `${view.namespace}/${view.name}`;
    for (let tries = 1; vm !== undefined && goes(before.mark); tries++) {
      try {
        // The VM may have any type: only the mark is tested.
        const patch = typePatch({ ...before, machineType: null }, { mark: null });
        const written = await client.patch(VirtualMachines, vm, 'json', patch, { signal: cancellationSignal() });
        newest = later(newest, written.metadata.resourceVersion);
        return;
      } catch (error) {
        if (!isRefusal(error)) throw error;
        // A transition does not wait for a VM that can't be written any more.
        if (tries === TRIES) {
          log.warn('a mark could not be cleared', { vm: key, why: error.message });
          return void kept.push({ vm: key, why: `its label could not be taken off: ${error.message}` });
        }
        const live = await liveVm(client, vm);
        if (live === undefined) return;
        [vm, before] = [vmView(live), beforeOf(live)];
      }
    }
  };
  const marked = all.filter(({ transitionMark }) => goes(transitionMark));
  await slowStart(marked, unmark, { most: concurrency, atFirst: concurrency, signal: cancellationSignal() });
  return { kept, seen: { vms: newest } };
}
