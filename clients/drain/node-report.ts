import { drainRules } from '../../api/rules/pool-defaults.ts';
import { maxUnavailableOf } from '../../decisions/disruption-budget/unavailability.ts';
import type { WhyHeld } from '../../decisions/disruption/held.ts';
import { isPausedByPerson } from '../../decisions/disruption/pause.ts';
import { whyHeld, whyKept } from '../../decisions/drain/need.ts';
import { planDrain, type DrainPlan, type EvacuationStatus } from '../../decisions/drain/plan.ts';
import { MEMBERS_CHANGE } from '../../decisions/drain/pool-drain.ts';
import { liveVmi } from '../../decisions/health/availability.ts';
import { membershipChangeOf } from '../../decisions/membership/change.ts';
import { EXTERNAL } from '../../decisions/template/template.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { VmView } from '../../decisions/views/vm.ts';
import { isFinal, type VmiView } from '../../decisions/views/vmi.ts';
import { budgetsAsked, pacedState, whyNever, type Act, type Pacing } from './paced-state.ts';
import { whyHeldBy, type BudgetView } from './why-held.ts';

/** How far a VMI is from leaving its node. */
export interface NodeReportItem {
  namespace: string;
  name: string;
  /** `VirtualMachinePool/web`; null for a VMI that none controls, or a VM that none does. */
  owner: string | null;
  /**
   * `NotAsked`: drover moves it once its pod is to be evicted. `KubeVirt`: KubeVirt migrates it then. `ShutDown`: its
   * guest is shut down then, beyond any budget of a pool. `Ends`: it is ending, or shut down within the budget of its
   * pool. `Blocked`: it stays until a user acts.
   */
  state: EvacuationStatus['state'] | 'NotAsked' | 'KubeVirt' | 'ShutDown' | 'Ends' | 'Blocked';
  /** What happens to it, or what it waits for; completes its name to a sentence, as it does the number of several. */
  message: string;
  /** Neither an update nor healing would touch it now, or drover moves it already: it is not evicted. */
  isKept: boolean;
  /** What drover does to it within disruption budgets, in place of an eviction; null if it is evicted. */
  act: 'Migrate' | 'Restart' | null;
  /** Of its pool; null without one. */
  maxUnavailable: number | null;
}

/** A VMI on the node, and what it belongs to. */
export interface OnNode {
  vmi: VmiView;
  /** Null for a VMI without a VM. */
  vm: VmView | null;
  /** The pool of drover's that owns the VM; null if none does. */
  pool: StoredPool | null;
  /** Its pod is on the node, but has not come up, so that KubeVirt does not say yet that the VMI is there. */
  isStarting: boolean;
}

export interface NodeReportInput extends Pacing, BudgetView {
  onNode: readonly OnNode[];
  /** All VMs of a pool. */
  membersOf: (pool: StoredPool) => readonly VmView[];
  /** The eviction strategy of VMIs that have none themselves. */
  clusterStrategy: string;
}

/** Returns what each of the VMIs on a node does, or waits for, to leave it. */
export function nodeReport(input: NodeReportInput): NodeReportItem[] {
  const { onNode } = input;
  const whyHeld = whyHeldBy(input);
  const statuses = new Map<string, Map<string, EvacuationStatus>>();
  const statusOf = (pool: StoredPool, vm: VmView): EvacuationStatus | undefined => {
    const known = statuses.get(pool.metadata.uid);
    if (known !== undefined) return known.get(vm.name);
    const planned = planOf(pool, input, whyHeld).statuses;
    statuses.set(pool.metadata.uid, new Map(planned.map((status) => [status.vm, status])));
    return statusOf(pool, vm);
  };
  return onNode.map((one) => {
    const { vmi, vm, pool } = one;
    const { namespace, name } = vmi;
    const controller = vm === null ? (vmi.standalone?.owner ?? null) : vm.owner;
    const owner = controller === null ? null : `${controller.kind}/${controller.name}`;
    const status = pool === null || vm === null ? undefined : statusOf(pool, vm);
    const own = status ?? withoutStatus(one, input);
    const { state, message, isKept = false, act = null } = inPool(one, own, input);
    const maxUnavailable = pool === null ? null : maxUnavailableOf(pool);
    return { namespace, name, owner, state, message, isKept, act, maxUnavailable };
  });
}

/** Plans for the pool as its workflow does, as far as the cluster shows what that knows. */
function planOf(pool: StoredPool, { membersOf, vmiOf, now }: NodeReportInput, whyHeld: WhyHeld): DrainPlan {
  const vms = membersOf(pool);
  const busy = new Map(membershipChangeOf(pool) === null ? [] : vms.map(({ name }) => [name, MEMBERS_CHANGE]));
  return planDrain({ pool, vms, vmiOf, acting: [], busy, refusals: [], whyHeld, now });
}

type NodeReportState = Pick<NodeReportItem, 'state' | 'message'> & Partial<Pick<NodeReportItem, 'isKept' | 'act'>>;

function withoutStatus({ vm, vmi, pool, isStarting }: OnNode, input: NodeReportInput): NodeReportState {
  if (isFinal(vmi)) return { state: 'Ends', message: 'has ended' };
  if (liveVmi(vmi) === undefined)
    return vmi.nodeLost
      ? { state: 'Blocked', message: `is to end: ${whyHeld(vmi)}` }
      : { state: 'Ends', message: 'is ending' };
  const strategy = vmi.evictionStrategy ?? input.clusterStrategy;
  if (isStarting && strategy === EXTERNAL && pool?.spec.drain !== undefined && !vmi.toleratesCordons)
    return { state: 'NotAsked', message: 'is restarted, once the node is cordoned, if it does not come up' };
  if (isStarting && (strategy === EXTERNAL || strategy === 'LiveMigrate'))
    return {
      state: 'Blocked',
      message:
        `stays until it has come up (${vmi.whyNotReady ?? vmi.phase}), or its VMI is deleted: KubeVirt refuses to evict it before` +
        (vmi.toleratesCordons ? ', and it tolerates cordons, so it may start here again' : ''),
    };
  if (strategy === EXTERNAL && pool?.spec.drain !== undefined)
    return { state: 'NotAsked', message: 'will be moved within the budget of its pool when evicted' };
  const byItself = byKubeVirt(vmi, strategy);
  const act = BY_EVICTION[byItself.state];
  return vm === null ? byItself : (heldBack(vm, vmi, byItself, act, input) ?? byItself);
}

const BY_EVICTION: Partial<Record<NodeReportItem['state'], Act>> = { KubeVirt: 'Migrate', ShutDown: 'Restart' };

/** What keeps a VM from what KubeVirt, or its pool, does at an eviction; null if nothing does. */
const heldBack = (
  vm: VmView,
  vmi: VmiView,
  own: NodeReportState,
  act: Act | undefined,
  input: Pacing,
): NodeReportState | null => kept(vm, vmi, own) ?? (act === undefined ? null : pacedState(vm, vmi, act, input));

const BY_POOL = new Set<NodeReportItem['state']>(['NotAsked', 'Budget', 'Evacuating']);

/** What happens to a VM that its pool moves within budgets: a drain past budgets has an operation move it instead. */
function inPool({ vm, vmi, pool }: OnNode, own: NodeReportState, input: NodeReportInput): NodeReportState {
  const rules = pool === null ? null : drainRules(pool.spec);
  if (vm === null || rules === null || vmi.migration !== null || !BY_POOL.has(own.state)) return own;
  const migrates = vmi.migratable && rules.method !== 'Restart';
  if (!migrates && rules.method === 'Migrate') return own;
  const act = migrates ? 'Migrate' : 'Restart';
  if (input.pastBudgets) return heldBack(vm, vmi, own, act, input) ?? own;
  const never = own.state === 'Evacuating' ? null : whyNever(budgetsAsked(vm, vmi, input), act);
  // Its pool moves it if the budget ever changes, once it is evicted.
  return never === null ? own : { state: 'Blocked', message: never };
}

/** What drover itself would not disrupt now, it does not have KubeVirt disrupt either. */
function kept(vm: VmView, vmi: VmiView, { state }: NodeReportState): NodeReportState | null {
  // KubeVirt moves it already: an eviction changes nothing.
  if (state === 'KubeVirt' && (vmi.migration !== null || vmi.evacuationNode === vmi.node)) return null;
  const endsPause = (state === 'ShutDown' || state === 'Ends') && isPausedByPerson(vm, vmi);
  const why = whyKept(vm, vmi) ?? (endsPause ? { message: 'it is paused by a user', isStuck: true } : null);
  if (why === null) return null;
  return why.isStuck
    ? { state: 'Blocked', message: `stays: ${why.message}`, isKept: true }
    : { state: 'Waiting', message: `waits: ${why.message}`, isKept: true };
}

/** What KubeVirt does at an eviction, by the strategy. */
function byKubeVirt({ migratable, migration, evacuationNode, node }: VmiView, strategy: string): NodeReportState {
  const migrates: NodeReportState = {
    state: 'KubeVirt',
    message:
      migration !== null || evacuationNode === node
        ? 'is being migrated by KubeVirt'
        : 'will be migrated by KubeVirt when evicted',
  };
  const ends: NodeReportState = { state: 'ShutDown', message: 'will be shut down when evicted' };
  switch (strategy) {
    case 'LiveMigrate':
      return migratable
        ? migrates
        : {
            state: 'Blocked',
            message: 'stays: KubeVirt cannot migrate it, and evictionStrategy LiveMigrate prevents its eviction',
          };
    case 'LiveMigrateIfPossible':
      return migratable ? migrates : ends;
    case EXTERNAL:
      return {
        state: 'Blocked',
        message: 'stays until something other than drover moves it: its strategy is External',
      };
    default:
      return ends;
  }
}
