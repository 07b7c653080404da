import { CHANGE_CAUSE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { Nodes, VirtualMachineInstances } from '../../api/resources.ts';
import { nodeView, type Node } from '../../decisions/from-object/node.ts';
import { vmiView, type VirtualMachineInstance } from '../../decisions/from-object/vmi.ts';
import { operationName } from '../../decisions/operations/ref.ts';
import { formatVms } from '../../decisions/runs/report.ts';
import { isDrained, DRAIN_TAINT } from '../../decisions/views/drained-node.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreNotFound, isNotFound } from '../../kubernetes/errors.ts';
import { Failure, sentenceOf } from '../cli/failure.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { dryRunSuffix, printResult, type CommandResult } from '../cli/print.ts';
import { steer } from '../operations/find-operation.ts';
import { isOver } from '../operations/print-operations.ts';
import type { Work } from '../session/session.ts';
import { drainOperations } from './hand-over.ts';
import { NODE_LABEL } from './read.ts';
import { ensureRights, TO_ABORT, TO_CANCEL } from './rights.ts';

/** `drover drain cancel`: as `cancelDrain`, and says what was done. */
export const cancelNodesDrain: Work<{ dryRun: DryRun }> = async (session, { dryRun }, node: string) =>
  printResult(await cancelDrain(await session.kube(), node, dryRun));

/**
 * Uncordons the node, and takes back KubeVirt's mark from each VMI that is to leave it, as `virtctl evacuate-cancel`
 * does. Moves that have begun continue. Throws `Failure` before anything is written if the user may not do all of it,
 * or if there is no such node.
 */
export async function cancelDrain(kube: KubeClient, node: string, dryRun: DryRun): Promise<CommandResult> {
  const found = await ignoreNotFound(kube.get<Node>(Nodes, { name: node }));
  if (found === undefined) throw new Failure(`there is no node ${node}`);
  const leaving = await leavingNode(kube, node);
  const operations = (await drainOperations(kube, node)).filter((one) => !isOver(one) && one.spec.aborted !== true);
  await ensureRights(kube, TO_CANCEL, new Set(leaving.map(({ namespace }) => namespace)));
  await ensureRights(kube, TO_ABORT, new Set(operations.map(({ metadata }) => metadata.namespace!)));
  const isCordoned = found.spec?.unschedulable === true;
  if (!isCordoned && leaving.length + operations.length === 0)
    return { sentence: `node ${node} unchanged: it is not cordoned, and no VM on it was asked to leave`, notes: [] };
  // First the node: until then, the drain may ask again.
  if (isCordoned && dryRun !== 'client') await uncordon(kube, node, dryRun);
  const kept: string[] = [];
  for (const { namespace, name } of dryRun === 'client' ? [] : leaving)
    await cancelEvacuation(kube, node, { namespace, name }, dryRun).catch((error: unknown) => {
      kept.push(`${namespace}/${name} is still asked to leave: ${sentenceOf(error)}`);
    });
  for (const operation of dryRun === 'none' ? operations : [])
    await steer(kube, operation, { aborted: true }, `the drain of node ${node} was cancelled`);
  const canceled = leaving.length - kept.length;
  const parts = [
    ...(isCordoned ? ['uncordoned'] : []),
    ...(canceled === 0 ? [] : [`${formatVms(canceled)} no longer asked to leave`]),
    ...operations.map(({ metadata }) => `operation ${operationName(metadata)} aborted`),
  ];
  const tainted = isDrained(nodeView({ ...found, spec: { ...found.spec, unschedulable: false } }), DRAIN_TAINT);
  return {
    sentence: `node ${node} ${parts.join(', and ') || 'unchanged'}${dryRunSuffix(dryRun)}`,
    notes: [
      ...kept,
      ...(tainted ? [`node ${node} still has a taint for a drain: remove it with \`kubectl taint\``] : []),
    ],
  };
}

async function leavingNode(kube: KubeClient, node: string): Promise<{ namespace: string; name: string }[]> {
  const labelSelector = `${NODE_LABEL}=${node}`;
  const { items } = await kube.list<VirtualMachineInstance>(VirtualMachineInstances, { labelSelector });
  return items.map(vmiView).filter(({ evacuationNode }) => evacuationNode === node);
}

async function uncordon(kube: KubeClient, node: string, dryRun: DryRun): Promise<void> {
  const metadata = { annotations: { [CHANGE_CAUSE_ANNOTATION]: null } };
  const patch = { metadata, spec: { unschedulable: null } };
  await kube.patch<Node>(Nodes, { name: node }, 'merge', patch, { dryRun: dryRun === 'server' });
}

async function cancelEvacuation(
  kube: KubeClient,
  node: string,
  { namespace, name }: { namespace: string; name: string },
  dryRun: DryRun,
): Promise<void> {
  const path =
    `/apis/subresources.kubevirt.io/v1/namespaces/${encodeURIComponent(namespace)}` +
    `/virtualmachineinstances/${encodeURIComponent(name)}/evacuate/cancel`;
  const body = { evacuationNodeName: node, ...(dryRun === 'server' ? { dryRun: ['All'] } : {}) };
  await kube.request({ method: 'PUT', path, body }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    // virt-api answers a path that it does not know without a Status.
    if (error.reason !== 'NotFound') throw new Failure("KubeVirt before 1.7 can't take that back");
  });
}
