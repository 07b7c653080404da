import { DRAIN_LABEL } from '../../api/labels-and-annotations.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  VirtualMachineDisruptionBudgets,
  VirtualMachineOperations,
} from '../../api/resources.ts';
import type { StoredBudget } from '../../decisions/disruption-budget/stored-budget.ts';
import { scatter } from '../../decisions/lib/scatter.ts';
import { operationName } from '../../decisions/operations/ref.ts';
import { formatVms } from '../../decisions/runs/report.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreUnseen } from '../../kubernetes/errors.ts';
import { operationOf } from '../operations/make.ts';
import { indexOf } from '../operations/read-budgets.ts';
import { usernameIn } from '../session/requester.ts';
import type { NodeReportItem } from './node-report.ts';
import type { Pacing } from './paced-state.ts';

/** As long as a budget may be full without an end of the drain. */
const DEADLINE = '24h';
/** Of a label's value. */
const LONGEST = 63;

const labelOf = (node: string): string => (node.length <= LONGEST ? node : scatter(node).toString(36));

/** Reads the budgets, and the operations by which VMs leave the node, as far as the user may see them. */
export async function readPacing(kube: KubeClient, node: string, pastBudgets: boolean): Promise<Pacing> {
  const [own, clusterWide, operations] = await Promise.all([
    ignoreUnseen(kube.list<StoredBudget>(VirtualMachineDisruptionBudgets)),
    ignoreUnseen(kube.list<StoredBudget>(ClusterVirtualMachineDisruptionBudgets)),
    drainOperations(kube, node),
  ]);
  const budgets = [...(clusterWide?.items ?? []), ...(own?.items ?? [])];
  const index = await indexOf(kube, budgets);
  return { budgetsOf: (vm) => index.of(vm), operations, pastBudgets, now: Date.now() };
}

/** Returns the operations by which VMs leave the node, or have left it, the newest first. */
export async function drainOperations(kube: KubeClient, node: string): Promise<StoredOperation[]> {
  const labelSelector = `${DRAIN_LABEL}=${labelOf(node)}`;
  const list = await ignoreUnseen(kube.list<StoredOperation>(VirtualMachineOperations, { labelSelector }));
  return (list?.items ?? []).toSorted((a, b) =>
    b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp),
  );
}

/** How a drain has VMs moved by operations. */
interface HandOver {
  reason?: string | undefined;
  /** Whether they wait for no disruption budget but that of their pool. */
  pastBudgets: boolean;
}

/** Makes an operation for the VMs of each namespace that drover is to move; returns what is made, in a few words. */
export async function handOver(
  kube: KubeClient,
  node: string,
  items: readonly NodeReportItem[],
  { dryRun, ...how }: HandOver & { dryRun: boolean },
): Promise<string[]> {
  const groups = Map.groupBy(
    items.filter(({ act }) => act !== null),
    ({ namespace, act }) => `${namespace}/${act}`,
  );
  const requestedBy = groups.size === 0 ? undefined : await usernameIn(() => Promise.resolve(kube));
  const made = [...groups.values()].map(async (group): Promise<string> => {
    const operation = operationFor(node, group, how, requestedBy);
    const { metadata } = await kube.create<StoredOperation>(VirtualMachineOperations, operation, {
      strict: true,
      dryRun,
    });
    return `${formatVms(group.length)} to be ${group[0]!.act === 'Migrate' ? 'migrated' : 'restarted'} by operation ${operationName(metadata)}`;
  });
  return Promise.all(made);
}

/** All that the budgets allow at once; a VM that has failed holds up no other. */
function operationFor(
  node: string,
  group: readonly NodeReportItem[],
  { reason, pastBudgets }: HandOver,
  requestedBy: string | undefined,
) {
  const { namespace, act } = group[0]!;
  const names = group.map(({ name }) => name);
  const operation = operationOf(namespace, {
    action: act!,
    vms: { names },
    atOnce: '100%',
    maxFailures: names.length,
    deadline: DEADLINE,
    reason: `drain of node ${node}${reason === undefined ? '' : `: ${reason}`}`.slice(0, 1024),
    ...(pastBudgets && { pastBudgets }),
    ...(requestedBy === undefined ? {} : { requestedBy }),
  });
  return { ...operation, metadata: { ...operation.metadata, labels: { [DRAIN_LABEL]: labelOf(node) } } };
}
