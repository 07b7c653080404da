import { controllerOf, type Stored } from '../../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import type { StoredBudget } from '../../../decisions/disruption-budget/stored-budget.ts';
import { vmView, type VirtualMachine } from '../../../decisions/from-object/vm.ts';
import { vmiView, type VirtualMachineInstance } from '../../../decisions/from-object/vmi.ts';
import { isMeantToRun, liveVmi } from '../../../decisions/health/availability.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { stateOf } from '../../budgets/budget-lines.ts';
import { NotThere, sentenceOf } from '../../cli/failure.ts';
import { ageOf } from '../../cli/print.ts';
import { formatCycle } from '../../healing/cycles.ts';
import { healView } from '../../healing/view.ts';
import { formatWarning, lastWarnings, type Warning } from '../../history/warnings.ts';
import { indexOf } from '../../operations/read-budgets.ts';
import { isStopped, vmiMember, vmMember, type Member } from '../../owners/members.ts';
import { claimIsFor } from '../../view/claim-is-for.ts';
import { NEXT, whyLost } from '../../view/vm-wait.ts';
import type { Fact, VmDetails } from '../contract/requests.ts';
import { creationOf } from './history.ts';
import { readDisks, unfilledDisks } from './vm-disks.ts';

/** What the fleet knows of a VM. */
export interface Known {
  card: string;
  pool: Stored<Pool> | undefined;
  /** Whether the node does not answer. */
  isNodeLost: (node: string | null) => boolean;
  /** All that the user may see. */
  budgets: readonly StoredBudget[];
}

type Parts = Pick<VmDetails, 'status' | 'isReady' | 'explanation' | 'facts' | 'disks' | 'history' | 'unknown'>;

/** Reads a VM, or a VMI without one. Throws `NotThere` if there is neither, and healing makes none again. */
export async function readVm(
  kube: KubeClient,
  namespace: string,
  name: string,
  { pool, isNodeLost, budgets }: Known,
): Promise<Parts> {
  const key = { namespace, name };
  const unknown: string[] = [];
  const now = kube.clock.now();
  const [vm, vmi] = await Promise.all([
    ignoreNotFound(kube.get<VirtualMachine>(VirtualMachines, key)),
    ignoreNotFound(kube.get<VirtualMachineInstance>(VirtualMachineInstances, key)).catch((error: unknown) => {
      unknown.push(`its VMI can't be read: ${sentenceOf(error)}`);
      return undefined;
    }),
  ]);
  const object = vm ?? vmi;
  if (object === undefined) {
    const explanation = pool === undefined ? [] : whyInPool(pool, name, { isReady: false, now });
    if (explanation.length === 0) throw new NotThere(`there is no VM ${namespace}/${name}`);
    return { status: 'Deleted', isReady: false, explanation, facts: [], disks: [], history: [], unknown };
  }
  const view = vmi === undefined ? null : withNode(vmiView(vmi), isNodeLost);
  const member = vm === undefined ? vmiMember(vmi!) : vmMember(vm, now);
  const { status, isReady } = member;
  const isDown = !isReady && !isStopped(member);
  const [disks, index, warnings] = await Promise.all([
    readDisks(kube, object, unknown),
    indexOf(kube, budgets),
    lastWarnings(kube, namespace, new Set(isDown ? [name] : [])),
  ]);
  return {
    status,
    isReady,
    explanation: whyOf(member, vm, view, {
      pool,
      now,
      warning: warnings.get(name),
      unfilled: isDown ? unfilledDisks(disks) : [],
    }),
    facts: factsOf(vm, view, object, {
      ofPool: pool === undefined ? null : budgetUseOf(pool, name, now),
      ofAny: vm === undefined ? [] : index.of(vmView(vm)),
    }),
    disks: disks.map(({ shown }) => shown),
    history: [creationOf(vm === undefined ? 'the VMI' : 'the VM', object.metadata)],
    unknown,
  };
}

const withNode = (vmi: VmiView, isNodeLost: Known['isNodeLost']): VmiView => ({
  ...vmi,
  nodeLost: isNodeLost(vmi.node),
});

function whyOf(
  { metadata: { name }, isReady, why }: Member,
  vm: Stored<VirtualMachine> | undefined,
  vmi: VmiView | null,
  beside: { pool: Stored<Pool> | undefined; now: number; warning: Warning | undefined; unfilled: string[] },
): string[] {
  const { pool, now, warning, unfilled } = beside;
  const view = vm === undefined ? null : vmView(vm);
  const found = [
    whyLost(vmi) ?? '',
    view === null ? '' : whyStopped(view, vmi),
    ...unfilled,
    isUnready(vmi) ? NEXT['Running']! : '',
    why,
    warning === undefined ? '' : `the last warning: ${formatWarning(warning, now)}`,
    vmi !== null && !vmi.ready ? (vmi.whyNotReady ?? '') : '',
    vmi?.pause == null ? '' : `it is paused: ${vmi.pause.message || vmi.pause.reason}`,
    view?.restartRequired == null ? '' : `it waits for a restart: ${view.restartRequired.message}`,
    ...(pool === undefined ? [] : whyInPool(pool, name, { isReady, now })),
  ];
  // What a longer sentence has said already is not said again.
  return found.filter((one, at) => one !== '' && !found.slice(0, at).some((other) => other.includes(one)));
}

/** KubeVirt reports only that a container of its pod is not ready. */
const isUnready = (vmi: VmiView | null): boolean =>
  vmi !== null && vmi.phase === 'Running' && !vmi.ready && !vmi.deleting && !vmi.nodeLost && vmi.pause === null;

/** KubeVirt does not tell who has stopped a VM. Its run strategy tells who may start the VM again. */
function whyStopped(vm: VmView, vmi: VmiView | null): string {
  if (vm.deleting || isMeantToRun(vm, vmi ?? undefined) || liveVmi(vmi ?? undefined) !== undefined) return '';
  const start = `\`drover vm start ${vm.name} -n ${vm.namespace}\` starts it`;
  switch (vm.runStrategy) {
    case 'Halted':
      return `it is stopped (run strategy Halted): ${start}`;
    case 'Once':
      return 'it has ended, and under the run strategy Once it is not started again';
    default:
      return (
        `it is stopped: a user has stopped it, its guest has shut down or its pod was evicted, ` +
        `after which KubeVirt starts nothing under the run strategy ${vm.runStrategy}: ${start}`
      );
  }
}

/** What the pool's status says about the VM: if it is ready, nothing that is over. */
function whyInPool(pool: Stored<Pool>, vm: string, { isReady, now }: { isReady: boolean; now: number }): string[] {
  const view = healView(pool);
  const isListed = [...view.cycles, ...(isReady ? [] : view.finished)].some((one) => one.vm === vm);
  const waiting = view.notReplaced.find((one) => one.vm === vm);
  const failure = isReady ? undefined : pool.status?.rollout?.failures.findLast((one) => one.vm === vm);
  return [
    isListed ? `healing: ${formatCycle(view, vm, now)}` : '',
    waiting === undefined ? '' : `not replaced: ${[waiting.message, waiting.waitsFor].filter(Boolean).join('; ')}`,
    failure === undefined ? '' : `failed in the rollout: ${failure.message}`,
  ].filter((sentence) => sentence !== '');
}

function budgetUseOf({ status }: Stored<Pool>, vm: string, now: number): string | null {
  const claim = status?.disruptedVMs?.find((one) => one.vm === vm);
  return claim === undefined ? null : `counts against it for ${ageOf(claim.at, now)} (${claimIsFor(claim)})`;
}

type MaybeFact = [label: string, value: string | null | undefined];

function factsOf(
  vm: Stored<VirtualMachine> | undefined,
  vmi: VmiView | null,
  object: Stored,
  budgets: { ofPool: string | null; ofAny: readonly StoredBudget[] },
): Fact[] {
  const view = vm === undefined ? null : vmView(vm);
  const owner = controllerOf(object);
  const facts: MaybeFact[] = [
    ['Owner', owner === undefined ? 'none' : `${owner.kind}/${owner.name}`],
    ['Created', object.metadata.creationTimestamp],
    ['Budget of its pool', budgets.ofPool],
    ['Disruption budgets', budgets.ofAny.map(budgetFact).join(', ')],
    ['Revision', vmi?.revision ?? view?.revision],
    ['Machine type', vmi?.machineType ?? view?.machineType],
    ...(view === null ? [] : vmFacts(view)),
    ...(vmi === null ? [] : vmiFacts(vmi)),
  ];
  return facts.flatMap(([label, value]) => (value ? [{ label, value }] : []));
}

const budgetFact = (budget: StoredBudget): string =>
  `${budget.metadata.namespace === undefined ? 'cluster-wide ' : ''}${budget.metadata.name}: ${stateOf(budget).text}`;

const vmFacts = (vm: VmView): MaybeFact[] => [
  ['Run strategy', vm.runStrategy],
  ['Protected from scale-in', vm.protected ? 'yes' : null],
  ['Disruption', vm.optedOut ? 'its owner opted out' : null],
  ['Failed starts', vm.startFailures === 0 ? null : String(vm.startFailures)],
];

const vmiFacts = (vmi: VmiView): MaybeFact[] => [
  ['Phase of its VMI', vmi.phase],
  ['Node', vmi.node],
  ['Memory', vmi.memory.guest],
  ['CPU sockets', vmi.cpu.sockets?.toString()],
  // KubeVirt says so only once the VMI has come to a node.
  ['Live migration', vmi.migratable ? 'possible' : vmi.whyNotMigratable && `not possible: ${vmi.whyNotMigratable}`],
  ['Pod', vmi.launcherOutdated ? 'of an earlier KubeVirt' : null],
];
