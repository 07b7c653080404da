import { countOf } from '../../api/lib/int-or-percent.ts';
import { VirtualMachines } from '../../api/resources.ts';
import type { VmsSnapshot } from '../../decisions/disruption-budget/restart-budget.ts';
import { vmView, type VirtualMachine } from '../../decisions/from-object/vm.ts';
import { liveVmi } from '../../decisions/health/availability.ts';
import {
  groupOf,
  forOneLook,
  transitionRules,
  wantedType,
  type TransitionRules,
} from '../../decisions/machine-types/transition-rules.ts';
import type { Transition, TransitionResult } from '../../decisions/machine-types/transition.ts';
import { typePatch } from '../../decisions/machine-types/type-patch.ts';
import { transitionNeed, type TransitionNeed } from '../../decisions/machine-types/vm-need.ts';
import { faultOf, formatFault, restartable, wantedResults } from '../../decisions/machine-types/wanted-results.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isNotFound, isTransient, KubeError } from '../../kubernetes/errors.ts';
import { byName } from '../cli/owner.ts';
import { snapshotOf, type VmInventory } from './read.ts';
import type { OthersRunning } from './transitions.ts';

/** What a transition would do to a VM. */
export type PlannedNeed =
  | 'Change'
  | 'ChangeAndRestart'
  /** Its owner has to restart it. */
  | 'ChangeAndWait'
  | 'Restart'
  | 'Wait'
  /** Its pool rolls it. */
  | 'Pool'
  /** Its state doesn't allow a change now. */
  | 'Deferred'
  | 'Excluded';

/** A VM that matches; `-o json` prints it as is. */
export interface PlannedItem {
  namespace: string;
  name: string;
  /** Name of the drover pool that owns the VM. */
  pool: string | null;
  /** Machine type in its spec. */
  type: string | null;
  /** Machine type of its VMI. */
  vmiType: string | null;
  /** Machine type in its spec afterwards; null if unknown. */
  result: string | null;
  need: PlannedNeed;
  /** Why it is deferred or excluded, or what would be wrong with the result. */
  message: string | null;
}

/** What a transition would do now. */
export interface TransitionPlanned {
  items: PlannedItem[];
  /** What dry runs returned, and what is wrong with that. */
  results: TransitionResult[];
  counts: Partial<Record<PlannedNeed, number>>;
  /** Restarts at a time. */
  maxRestarts: number;
  /** Why the transition would be refused, a sentence each. */
  refusals: string[];
  /** What could not be found out, a sentence each. */
  unknown: string[];
}

export interface PlanOptions {
  /** Whether to ask the API server for the resulting types, by dry runs that write nothing. */
  withDryRuns: boolean;
  others: Pick<OthersRunning, 'names' | 'unknown'>;
}

/** Plans the transition for the fleet as read, by the same rules that a worker uses. */
export async function planOf(
  kube: KubeClient,
  fleet: VmInventory,
  transition: Transition,
  { withDryRuns, others }: PlanOptions,
): Promise<TransitionPlanned> {
  const snapshot = snapshotOf(fleet);
  const input = { ref: { id: '' }, transition, othersRunning: others.names };
  const before = forOneLook(transitionRules({ ...input, results: [] }));
  const dryRuns = withDryRuns ? await dryRunAll(kube, before, fleet, snapshot) : { results: [], unknown: [] };
  const rules = forOneLook(transitionRules({ ...input, results: dryRuns.results }));
  const planned = fleet.vms.flatMap((vm) => plannedVm(rules, vm, snapshot) ?? []);
  const counts: TransitionPlanned['counts'] = {};
  for (const { need } of planned) counts[need] = (counts[need] ?? 0) + 1;
  const faults = dryRuns.results.filter(({ fault }) => fault !== null);
  return {
    items: planned.sort(inOrder),
    results: dryRuns.results,
    counts,
    maxRestarts: countOf(transition.maxRestarts, restartable(rules, fleet.vms, snapshot), 1),
    refusals: transition.force ? [] : faults.map(formatFault),
    unknown: [...dryRuns.unknown, ...(others.unknown === null ? [] : [others.unknown])],
  };
}

/** Finds out the resulting type of each group of VMs, by a dry run on one VM of the group. */
async function dryRunAll(
  kube: KubeClient,
  rules: TransitionRules,
  { vms, nodes }: VmInventory,
  snapshot: VmsSnapshot,
): Promise<Pick<TransitionPlanned, 'results' | 'unknown'>> {
  const results: TransitionResult[] = [];
  const unknown = new Set<string>(
    nodes === null ? ['whether nodes have the new type is not known: you may not list them'] : [],
  );
  for (const { group, vms: count, sample } of wantedResults(rules, vms, snapshot)) {
    const vm = snapshot.vmOf(sample)!;
    try {
      const to = await resultingType(kube, vm, group.wanted);
      results.push({ ...group, to, vms: count, fault: faultOf(rules, to, nodes ?? []) });
    } catch (error) {
      if (!(error instanceof KubeError) || isTransient(error)) throw error;
      if (isForbidden(error)) unknown.add('which types VMs would get is not known: you may not patch them');
      else if (await isAsRead(kube, vm))
        results.push({
          ...group,
          to: group.wanted ?? '',
          vms: count,
          fault: `the API server refuses it: ${error.message}`,
        });
      else unknown.add(`what ${sample} would get is not known: it has changed while it was read`);
    }
  }
  return { results, unknown: [...unknown] };
}

/** Returns the machine type after the patch; empty if no default applies. */
async function resultingType(kube: KubeClient, vm: VmView, to: string | null): Promise<string> {
  const patch = typePatch({ uid: vm.uid }, { machineType: to });
  const { spec } = await kube.patch<VirtualMachine>(VirtualMachines, vm, 'merge', patch, { dryRun: true });
  return spec?.template?.spec?.domain?.machine?.type ?? '';
}

/** Reports whether RBAC refused the request: an admission webhook may answer 403, too. */
const isForbidden = ({ status, message }: KubeError): boolean =>
  status === 403 && !message.startsWith('admission webhook');

async function isAsRead(kube: KubeClient, { uid, machineType, ...key }: VmView): Promise<boolean> {
  try {
    const live = vmView(await kube.get<VirtualMachine>(VirtualMachines, key));
    return live.uid === uid && live.machineType === machineType;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

function plannedVm(rules: TransitionRules, vm: VmView, snapshot: VmsSnapshot): PlannedItem | null {
  const owner = snapshot.poolOf(vm);
  const live = liveVmi(snapshot.vmiOf(vm));
  const found = needOf(transitionNeed(rules, vm, snapshot), {
    restartNow: rules.transition.restartNow,
    runs: live !== undefined,
  });
  if (found === null) return null;
  const { namespace, name, machineType } = vm;
  const wanted = found.need === 'Excluded' ? undefined : wantedType(rules, vm);
  const result = wanted === undefined ? machineType : (rules.resultOf(groupOf(vm, wanted))?.to ?? wanted);
  const vmiType = live === undefined ? null : (live.machineType ?? live.specMachineType);
  return {
    namespace,
    name,
    pool: owner?.pool.metadata.name ?? null,
    type: machineType,
    vmiType: vmiType,
    result,
    ...found,
  };
}

type Found = Pick<PlannedItem, 'need' | 'message'>;

function needOf(needed: TransitionNeed, { restartNow, runs }: { restartNow: boolean; runs: boolean }): Found | null {
  const waiting = restartNow ? 'ChangeAndRestart' : 'ChangeAndWait';
  const changed = (waits: boolean): PlannedNeed => (waits ? waiting : 'Change');
  switch (needed.need) {
    case 'nothing':
    case 'done':
      return null;
    case 'patch':
      return { need: changed(needed.setsLabel), message: null };
    case 'check':
      return { need: changed(runs), message: null };
    case 'label':
      return { need: restartNow ? 'Restart' : 'Wait', message: null };
    case 'restart':
      return { need: 'Restart', message: null };
    case 'wait':
      return { need: 'Wait', message: null };
    case 'pool':
      return { need: 'Pool', message: needed.message };
    case 'deferred':
      return { need: 'Deferred', message: needed.message };
    case 'excluded':
    case 'failed':
      return { need: 'Excluded', message: needed.message };
  }
}

const inOrder = (a: PlannedItem, b: PlannedItem): number => byName({ metadata: a }, { metadata: b });
