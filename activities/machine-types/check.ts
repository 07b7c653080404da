import { cancellationSignal } from '@temporalio/activity';
import { countOf } from '../../api/lib/int-or-percent.ts';
import { vmView } from '../../decisions/from-object/vm.ts';
import { later, maxVersions, type ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { forOneLook } from '../../decisions/machine-types/transition-rules.ts';
import type { TransitionResult } from '../../decisions/machine-types/transition.ts';
import {
  faultOf,
  formatFault,
  restartable,
  wantedResults,
  type WantedResult,
} from '../../decisions/machine-types/wanted-results.ts';
import { isRefusal } from '../../kubernetes/errors.ts';
import type { ClusterAccess } from '../cache/access.ts';
import { runRefused } from '../operations/authority.ts';
import { liveVm } from '../owners/live-vm.ts';
import type { TransitionContext } from './context.ts';
import { resultingType } from './resulting-type.ts';
import { missingRights, rightsFor } from './rights.ts';

export interface Checked {
  results: TransitionResult[];
  minVersions: ResourceVersions;
}

export interface Preflight extends Checked {
  /** How many VMs may be unready at once. */
  maxRestarts: number;
}

/**
 * Finds out what would become of the VMs in scope, and what stands in the way, before anything is written. Throws a
 * non-retryable failure if the transition is refused.
 */
export async function preflight(options: ClusterAccess, context: TransitionContext): Promise<Preflight> {
  const { client, cache } = options;
  const { snapshot } = context;
  const rules = forOneLook(context.rules);
  const { transition } = rules;
  const rights = rightsFor({ restarts: transition.restartNow });
  const missing = await missingRights(client, rights, transition.scope.namespaces);
  if (missing.length > 0) throw runRefused(`the worker may not ${missing.join(', nor ')}: nothing was changed`);
  const { results, minVersions } = await checkTypes(
    options,
    context,
    wantedResults(rules, cache.vms.values(), snapshot),
  );
  const faults = results.filter(({ fault }) => fault !== null);
  if (faults.length > 0 && !transition.force) throw runRefused(faults.map(formatFault).join('; '));
  const maxRestarts = countOf(transition.maxRestarts, restartable(rules, cache.vms.values(), snapshot), 1);
  return { results, maxRestarts, minVersions: maxVersions(cache.versionsOf('pools', 'vms', 'vmis'), minVersions) };
}

/**
 * Finds out what becomes of each of these groups, by a dry run on one VM of each. Skips a group if its VM is deleted or
 * has another type meanwhile.
 */
export async function checkTypes(
  { client, cache }: ClusterAccess,
  { rules }: TransitionContext,
  wanted: readonly WantedResult[],
): Promise<Checked> {
  const results: TransitionResult[] = [];
  let vms: string | undefined;
  for (const { group, vms: count, sample } of wanted) {
    cancellationSignal().throwIfAborted();
    const vm = cache.vms.get(sample);
    if (vm === undefined || vm.machineType !== group.from) continue;
    try {
      const to = (await resultingType(client, vm, group.wanted)) ?? '';
      results.push({ ...group, to, vms: count, fault: faultOf(rules, to, cache.nodes.values()) });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // If the VM was deleted or changed meanwhile, another VM of its group is tried next time.
      const live = await liveVm(client, vm);
      if (live === undefined) await cache.vms.relist(vm);
      else vms = later(vms, live.metadata.resourceVersion);
      if (live === undefined || vmView(live).machineType !== group.from) continue;
      results.push({
        ...group,
        to: group.wanted ?? '',
        vms: count,
        fault: `the API server refuses it: ${error.message}`,
      });
    }
  }
  return { results, minVersions: { vms } };
}
