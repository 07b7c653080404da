import { CHANGE_CAUSE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { Nodes } from '../../api/resources.ts';
import type { Node } from '../../decisions/from-object/node.ts';
import { formatVms } from '../../decisions/runs/report.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure } from '../cli/failure.ts';
import { whenInterrupted } from '../cli/interrupted.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { dryRunSuffix, printResult, type CommandResult } from '../cli/print.ts';
import type { Work } from '../session/session.ts';
import { evictAll, podsOn, type Evicted } from './evictions.ts';
import { followNode, nodeViewOf, printNode } from './node-status.ts';
import { ensureRights, TO_DRAIN } from './rights.ts';

/** As often as `kubectl drain` asks again for pods that may not go yet. */
const AGAIN_MS = 5_000;

interface StartOptions {
  reason?: string | undefined;
  dryRun: DryRun;
}

/** How far a drain has come, for users who end the command. */
interface DrainProgress {
  isCordoned: boolean;
  ends: Map<string, Evicted>;
  /** How many pods of VMs are to be evicted. */
  of: number;
}

const noDrainYet = (): DrainProgress => ({ isCordoned: false, ends: new Map(), of: 0 });

/**
 * Cordons the node and asks the API server once to evict the pod of each VMI on it, as `kubectl drain` does: KubeVirt
 * then marks the VMIs that are to be moved, and drover moves those of its pools. Leaves all other pods alone. Throws
 * `Failure` before anything is written if the user may not do all of it, or if there is no such node.
 */
export async function startDrain(
  kube: KubeClient,
  node: string,
  { reason, dryRun }: StartOptions,
  progress: DrainProgress = noDrainYet(),
): Promise<CommandResult> {
  const { items } = await nodeViewOf(kube, node);
  await ensureRights(kube, TO_DRAIN, new Set(items.map(({ namespace }) => namespace)));
  progress.isCordoned = dryRun === 'none';
  if (dryRun !== 'client') await cordon(kube, node, { reason, dryRun });
  // No pod comes to a node that is cordoned: now these are all.
  const { launchers, others } = await podsOn(kube, node);
  progress.of = launchers.length;
  if (dryRun !== 'client') await evictAll(kube, launchers, dryRun, (one) => void progress.ends.set(one.pod.uid, one));
  return {
    sentence: `node ${node} cordoned, and ${outcomeOf(progress, items.length, dryRun)}${dryRunSuffix(dryRun)}`,
    notes: [
      ...refusals(progress),
      ...(others === 0
        ? []
        : [
            `${others === 1 ? '1 other pod' : `${others} other pods`} on the node left alone: \`kubectl drain\` evicts all`,
          ]),
    ],
  };
}

async function cordon(kube: KubeClient, node: string, { reason, dryRun }: StartOptions): Promise<void> {
  const annotations = { [CHANGE_CAUSE_ANNOTATION]: reason ?? null };
  const patch = { ...(reason === undefined ? {} : { metadata: { annotations } }), spec: { unschedulable: true } };
  await kube.patch<Node>(Nodes, { name: node }, 'merge', patch, { dryRun: dryRun === 'server' });
}

/** `vms`: how many are on the node. */
function outcomeOf({ ends, of }: DrainProgress, vms: number, dryRun: DryRun): string {
  if (vms === 0 && of === 0) return 'no VM is on it';
  if (dryRun === 'client') return `${formatVms(vms)} would be asked to leave`;
  if (of === 0) return `${formatVms(vms)} on it without a pod that could be evicted`;
  const count = (end: Evicted['end']): number => [...ends.values()].filter((one) => one.end === end).length;
  const parts = [
    count('asked') > 0 && `${formatVms(count('asked'))} asked to leave`,
    count('ends') > 0 && `${formatVms(count('ends'))} evicted`,
    count('refused') > 0 && `${formatVms(count('refused'))} refused`,
  ];
  return parts.filter((part) => part !== false).join(', ');
}

/** VMs that may not go, or not yet, by the reason. */
function refusals({ ends }: DrainProgress): string[] {
  const refused = [...ends.values()].flatMap((one) => (one.end === 'refused' ? [one] : []));
  return refused.map(({ pod: { namespace, vmi }, message }) => `${namespace}/${vmi} stays for now: ${message}`);
}

/** What users must know who end the command before the node is empty. */
function formatInterrupted(node: string, { isCordoned, ends, of }: DrainProgress): string {
  if (!isCordoned) return `nothing was changed: node ${node} is as it was`;
  const requested = [...ends.values()].filter(({ end }) => end !== 'refused').length;
  return (
    `node ${node} stays cordoned, and ${requested} of ${formatVms(of)} ${requested === 1 ? 'was' : 'were'} asked to leave: ` +
    `\`drover drain start ${node}\` asks the others, \`drover drain status ${node}\` shows them, ` +
    `\`drover drain cancel ${node}\` takes it back`
  );
}

/** `drover drain start`: says what will happen to each VM, drains, and follows until no VMI is left. */
export const drainNode: Work<StartOptions & { wait: boolean }> = async (session, { wait, ...options }, node) => {
  const kube = await session.kube();
  const progress = noDrainYet();
  using _ = whenInterrupted(() => formatInterrupted(node, progress));
  await printNode(kube, node);
  printResult(await startDrain(kube, node, options, progress));
  if (wait && options.dryRun === 'none') await untilEmpty(kube, node, progress);
};

/**
 * Follows the node, and asks again for the pods that were not let go. Those that KubeVirt has marked are asked for
 * once: a user who takes a mark back wants the VM to stay. Throws `Failure` if the node is uncordoned meanwhile.
 */
async function untilEmpty(kube: KubeClient, node: string, progress: DrainProgress): Promise<void> {
  let requestedAt = Date.now();
  await followNode(kube, node, async ({ isDrained, items }) => {
    if (!isDrained)
      throw new Failure(`node ${node} is no longer cordoned: its drain was cancelled, and ${items.length} VMIs stay`);
    if (Date.now() - requestedAt < AGAIN_MS) return;
    requestedAt = Date.now();
    const { launchers } = await podsOn(kube, node);
    const open = launchers.filter(({ uid }) => (progress.ends.get(uid)?.end ?? 'refused') === 'refused');
    await evictAll(kube, open, 'none', (one) => void progress.ends.set(one.pod.uid, one));
  });
}
