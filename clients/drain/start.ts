import { CHANGE_CAUSE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { Nodes } from '../../api/resources.ts';
import type { Node } from '../../decisions/from-object/node.ts';
import { formatVms } from '../../decisions/runs/report.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure, sentenceOf } from '../cli/failure.ts';
import { whenInterrupted } from '../cli/interrupted.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { dryRunSuffix, printResult, type CommandResult } from '../cli/print.ts';
import type { Work } from '../session/session.ts';
import { evictAll, podsOn, type Evicted, type LauncherPod } from './evictions.ts';
import { handOver } from './hand-over.ts';
import { followNode, nodeViewOf, printNode, type NodeReport } from './node-status.ts';
import { recordShutDowns } from './record.ts';
import { ensureRights, TO_DRAIN, TO_OVERRIDE, TO_PACE } from './rights.ts';

/** As often as `kubectl drain` asks again for pods that may not go yet. */
const AGAIN_MS = 5_000;

interface StartOptions {
  reason?: string | undefined;
  dryRun: DryRun;
  /** Whether VMs may be shut down beyond the budgets of their pools. */
  shutDown?: boolean | undefined;
  /** Whether VMs wait for no disruption budget but that of their pool. */
  pastBudgets?: boolean | undefined;
}

/** How far a drain has come, for users who end the command. */
interface DrainProgress {
  isCordoned: boolean;
  ends: Map<string, Evicted>;
  /** How many pods of VMs are to be evicted. */
  of: number;
  /** What drover was given to move within disruption budgets, in a few words each. */
  handedOver: string[];
}

const noDrainYet = (): DrainProgress => ({ isCordoned: false, ends: new Map(), of: 0, handedOver: [] });

/**
 * Cordons the node and asks the API server once to evict the pod of each VMI on it, as `kubectl drain` does: KubeVirt
 * then marks the VMIs that are to be moved, and drover moves those of its pools. VMs under disruption budgets are moved
 * by an operation instead. Leaves all other pods alone, and VMs that drover would not disrupt now. Throws `Failure`
 * before anything is written if the user may not do all of it, if VMs would be shut down and `shutDown` does not allow
 * it, or if there is no such node.
 */
export async function startDrain(
  kube: KubeClient,
  node: string,
  { reason, dryRun, shutDown = false, pastBudgets = false }: StartOptions,
  progress: DrainProgress = noDrainYet(),
): Promise<CommandResult> {
  const { items, shutDown: ended } = await nodeViewOf(kube, node, pastBudgets);
  if (ended !== null && !shutDown && dryRun === 'none')
    throw new Failure(`nothing was changed: ${ended}. ${TO_SHUT_DOWN}`);
  await ensureRights(kube, TO_DRAIN, namespacesOf(items));
  const moved = namespacesOf(items.filter(({ act }) => act !== null));
  await ensureRights(kube, TO_PACE, moved);
  if (pastBudgets) await ensureRights(kube, TO_OVERRIDE, moved);
  if (dryRun !== 'client')
    await handOver(kube, node, items, { reason, pastBudgets, dryRun: true }).catch((error: unknown) => {
      throw new Failure(`nothing was changed: ${sentenceOf(error)}`, { cause: error });
    });
  progress.isCordoned = dryRun === 'none';
  if (dryRun !== 'client') await cordon(kube, node, { reason, dryRun });
  // No pod comes to a node that is cordoned: now these are all.
  const { launchers, others } = await podsOn(kube, node);
  // The VMs are read after their pods, and again: what keeps one may be new.
  const now = await nodeViewOf(kube, node, pastBudgets);
  const mayShutDown = shutDown || dryRun !== 'none';
  const { evicted, kept } = choose(launchers, now, mayShutDown);
  progress.of = evicted.length;
  if (dryRun === 'none')
    progress.handedOver = await handOver(kube, node, paced(now, mayShutDown), { reason, pastBudgets, dryRun: false });
  if (dryRun !== 'client') await evictAll(kube, evicted, dryRun, (one) => void progress.ends.set(one.pod.uid, one));
  const unrecorded = dryRun === 'none' ? await recordShutDowns(kube, node, shutDowns(progress), reason) : [];
  return {
    sentence: `node ${node} cordoned, and ${outcomeOf(progress, items.length, dryRun)}${dryRunSuffix(dryRun)}`,
    notes: [
      ...(ended !== null && !shutDown ? [`${ended}. Without a dry run: ${TO_SHUT_DOWN}`] : []),
      ...kept.map(({ namespace, name, message }) => `${namespace}/${name} ${message}`),
      ...refusals(progress),
      ...unrecorded,
      ...(others === 0
        ? []
        : [
            `${others === 1 ? '1 other pod' : `${others} other pods`} on the node left alone: \`kubectl drain\` evicts all`,
          ]),
    ],
  };
}

const namespacesOf = (items: NodeReport['items']): Set<string> => new Set(items.map(({ namespace }) => namespace));

/** The VMs that drover is to move. */
const paced = ({ items }: NodeReport, mayShutDown: boolean): NodeReport['items'] =>
  items.filter(({ act, state }) => act !== null && (state !== 'ShutDown' || mayShutDown));

const TO_SHUT_DOWN =
  '--shut-down allows that; VMs of pools with `drain` are moved within maxUnavailable instead (docs/drain.md)';

/** Tells the pods to evict from the VMs that stay. */
function choose(
  launchers: readonly LauncherPod[],
  { items }: NodeReport,
  mayShutDown: boolean,
): { evicted: LauncherPod[]; kept: NodeReport['items'] } {
  const kept = items.filter(({ isKept, state }) => isKept || (state === 'ShutDown' && !mayShutDown));
  const stay = [...kept, ...items.filter(({ act }) => act !== null)];
  const names = new Set(stay.map(({ namespace, name }) => `${namespace}/${name}`));
  return { evicted: launchers.filter(({ namespace, vmi }) => !names.has(`${namespace}/${vmi}`)), kept };
}

const shutDowns = ({ ends }: DrainProgress): LauncherPod[] =>
  [...ends.values()].flatMap(({ end, pod }) => (end === 'ends' ? [pod] : []));

async function cordon(kube: KubeClient, node: string, { reason, dryRun }: StartOptions): Promise<void> {
  const annotations = { [CHANGE_CAUSE_ANNOTATION]: reason ?? null };
  const patch = { ...(reason === undefined ? {} : { metadata: { annotations } }), spec: { unschedulable: true } };
  await kube.patch<Node>(Nodes, { name: node }, 'merge', patch, { dryRun: dryRun === 'server' });
}

/** `vms`: how many are on the node. */
function outcomeOf({ ends, of, handedOver }: DrainProgress, vms: number, dryRun: DryRun): string {
  if (vms === 0 && of === 0) return 'no VM is on it';
  if (dryRun === 'client' || (dryRun === 'server' && ends.size === 0))
    return `${formatVms(vms)} would be asked to leave`;
  if (of === 0 && handedOver.length === 0) return `none of ${formatVms(vms)} on it asked to leave`;
  const count = (end: Evicted['end']): number => [...ends.values()].filter((one) => one.end === end).length;
  const parts = [
    count('asked') > 0 && `${formatVms(count('asked'))} asked to leave`,
    count('ends') > 0 && `${formatVms(count('ends'))} evicted, which shuts ${count('ends') === 1 ? 'it' : 'them'} down`,
    count('refused') > 0 && `${formatVms(count('refused'))} refused`,
    ...handedOver,
  ];
  return parts.filter((part) => part !== false).join(', ');
}

/** VMs that may not go, or not yet, by the reason. */
function refusals({ ends }: DrainProgress): string[] {
  const refused = [...ends.values()].flatMap((one) => (one.end === 'refused' ? [one] : []));
  return refused.map(({ pod: { namespace, vmi }, message }) => `${namespace}/${vmi} stays for now: ${message}`);
}

/** What users must know who end the command before the node is empty. */
export function formatInterrupted(node: string, { isCordoned, ends, of, handedOver }: DrainProgress): string {
  if (!isCordoned) return `nothing was changed: node ${node} is as it was`;
  const requested = [...ends.values()].filter(({ end }) => end !== 'refused').length;
  const asked = `${requested} of ${formatVms(of)} ${requested === 1 ? 'was' : 'were'} asked to leave`;
  const begun = [...(of > 0 || handedOver.length === 0 ? [asked] : []), ...handedOver];
  return (
    `node ${node} stays cordoned, and ${begun.join(', ')}: ` +
    `\`drover drain start ${node}\` asks the others, \`drover drain status ${node}\` shows them, ` +
    `\`drover drain cancel ${node}\` takes it back`
  );
}

/** `drover drain start`: says what will happen to each VM, drains, and follows until no VMI is left. */
export const drainNode: Work<StartOptions & { wait: boolean }> = async (session, { wait, ...options }, node) => {
  const kube = await session.kube();
  const progress = noDrainYet();
  using _ = whenInterrupted(() => formatInterrupted(node, progress));
  await printNode(kube, node, undefined, options.pastBudgets);
  printResult(await startDrain(kube, node, options, progress));
  if (wait && options.dryRun === 'none') await untilEmpty(kube, node, options, progress);
};

/**
 * Follows the node, and asks again for the pods that were not let go. Those that KubeVirt has marked are asked for
 * once: a user who takes a mark back wants the VM to stay. Throws `Failure` if the node is uncordoned meanwhile.
 */
async function untilEmpty(
  kube: KubeClient,
  node: string,
  { reason, shutDown = false, pastBudgets = false }: StartOptions,
  progress: DrainProgress,
): Promise<void> {
  let requestedAt = Date.now();
  const onLook = async (view: NodeReport): Promise<void> => {
    const { isDrained, items } = view;
    if (!isDrained)
      throw new Failure(`node ${node} is no longer cordoned: its drain was cancelled, and ${items.length} VMIs stay`);
    if (Date.now() - requestedAt < AGAIN_MS) return;
    requestedAt = Date.now();
    const { launchers } = await podsOn(kube, node);
    const open = launchers.filter(({ uid }) => (progress.ends.get(uid)?.end ?? 'refused') === 'refused');
    const before = shutDowns(progress);
    const { evicted } = choose(open, view, shutDown);
    await evictAll(kube, evicted, 'none', (one) => void progress.ends.set(one.pod.uid, one));
    await recordShutDowns(
      kube,
      node,
      shutDowns(progress).filter((pod) => !before.includes(pod)),
      reason,
    );
    await handOver(kube, node, paced(view, shutDown), { reason, pastBudgets, dryRun: false });
  };
  await followNode(kube, node, onLook, pastBudgets);
}
