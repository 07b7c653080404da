import { setTimeout as sleep } from 'node:timers/promises';
import { byNumber } from '../../decisions/lib/names.ts';
import { formatCounts, formatVms } from '../../decisions/runs/report.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError, KubeUnreachable } from '../../kubernetes/errors.ts';
import { Board, printViews } from '../cli/live.ts';
import {
  printNote,
  printBrokenWatch,
  paint,
  plain,
  table,
  type Cell,
  type Style,
  type DataFormat,
} from '../cli/print.ts';
import type { Work } from '../session/session.ts';
import { nodeReport, type NodeReportItem } from './node-report.ts';
import { readNode } from './read.ts';

const LOOK_MS = 2_000;

/** What is left on a node; `-o json` prints it as is. */
export interface NodeReport {
  node: string;
  /** Cordoned, or tainted as for a drain. */
  isDrained: boolean;
  /** Why it is drained, if the user who drains it has said so. */
  reason: string | null;
  items: NodeReportItem[];
  /** What an eviction shuts down beyond any budget, as a sentence; null if it shuts down nothing so. */
  shutDown: string | null;
}

/** Shows which VMIs are left on a node, once or until there are none. */
export const nodeStatus: Work<{ watch?: boolean; output?: DataFormat }> = async (session, { watch, output }, node) => {
  const kube = await session.kube();
  await (watch === true ? followNode(kube, node) : printNode(kube, node, output));
};

/** Prints which VMIs are left on the node, and what each waits for, or says that there are none. */
export async function printNode(
  kube: KubeClient,
  node: string,
  output?: DataFormat,
  pastBudgets = false,
): Promise<void> {
  const view = await nodeViewOf(kube, node, pastBudgets);
  if (output === undefined && view.items.length === 0) return printNote(blockOf(view)[0]!);
  await printViews([view], { output, blockOf });
}

/**
 * Shows it as it changes, until no VMI is left. `onLook`: called each time with what is left.
 */
export async function followNode(
  kube: KubeClient,
  node: string,
  onLook: (view: NodeReport) => Promise<void> | void = () => {},
  pastBudgets = false,
): Promise<void> {
  await using board = new Board<NodeReport>('node', { blockOf });
  const look = async (): Promise<boolean> => {
    const view = await nodeViewOf(kube, node, pastBudgets);
    board.show([view]);
    if (view.items.length > 0) await onLook(view);
    return view.items.length === 0;
  };
  // A poll, because what it shows joins six kinds: most of their changes are of no concern to the node.
  for (let isOver = await look(); !isOver;) {
    await sleep(LOOK_MS);
    isOver = await look().catch((error: unknown) => {
      if (error instanceof KubeError || error instanceof KubeUnreachable) printBrokenWatch(error);
      else throw error;
      return false;
    });
  }
}

/** `pastBudgets`: whether the VMs are to wait for no disruption budget but that of their pool. */
export async function nodeViewOf(kube: KubeClient, node: string, pastBudgets = false): Promise<NodeReport> {
  const { isDrained, reason, ...read } = await readNode(kube, node, pastBudgets);
  const items = nodeReport(read);
  return {
    node,
    isDrained,
    reason,
    shutDown: formatShutDown(items, pastBudgets ? 'past' : 'within'),
    items: items.sort((a, b) => byNumber(a.namespace, b.namespace) || byNumber(a.name, b.name)),
  };
}

/**
 * Such as `3 VMs will be shut down: 2 of pool shop/web (maxUnavailable 1), shop/mail`. VMs that drover restarts
 * within or past their budgets are shut down, too.
 */
function formatShutDown(items: readonly NodeReportItem[], how: 'within' | 'past'): string | null {
  const [ended, paced] = [null, 'Restart'].map((act) =>
    items.filter((item) => item.state === 'ShutDown' && item.act === act),
  ) as [NodeReportItem[], NodeReportItem[]];
  const names = paced.map(({ namespace, name }) => `${namespace}/${name}`).join(', ');
  const within =
    paced.length === 0 ? [] : [`${formatVms(paced.length)} will be shut down ${how} disruption budgets: ${names}`];
  const sentences = [...(ended.length === 0 ? [] : [formatEnded(ended)]), ...within];
  return sentences.length === 0 ? null : sentences.join('; ');
}

function formatEnded(ended: readonly NodeReportItem[]): string {
  const groups = Map.groupBy(ended, ({ namespace, name, owner }) => `${namespace}/${owner ?? name}`);
  const parts = [...groups.values()].map((group) => {
    const { namespace, name, owner, maxUnavailable } = group[0]!;
    if (owner === null) return `${namespace}/${name}`;
    const [kind, ownerName] = owner.split('/') as [string, string];
    const limit = maxUnavailable === null ? '' : ` (maxUnavailable ${maxUnavailable})`;
    return `${group.length} of ${maxUnavailable === null ? kind : 'pool'} ${namespace}/${ownerName}${limit}`;
  });
  return `${formatVms(ended.length)} will be shut down, whatever the budgets of their pools: ${parts.join(', ')}`;
}

export const NEEDS_A_USER = new Set<NodeReportItem['state']>(['Stuck', 'Blocked']);
const STYLES: Partial<Record<NodeReportItem['state'], Style>> = {
  Stuck: 'red',
  Blocked: 'red',
  ShutDown: 'red',
  Evacuating: 'green',
};

/** A line with how many are in progress, wait, or need a user; and a table. */
export function blockOf({ node, isDrained, reason, items }: NodeReport): string[] {
  if (items.length === 0) return [plain(`no VMI is on node ${node}`)];
  const stay = items.filter(({ state }) => NEEDS_A_USER.has(state)).length;
  const moving = items.filter(({ state }) => state === 'Evacuating').length;
  const numbers = formatCounts([
    [moving, 'in progress'],
    [items.length - moving - stay, 'to go'],
    [stay, 'stuck'],
  ]);
  return [
    `${paint('bold', plain(node))}  ${items.length === 1 ? '1 VMI' : `${items.length} VMIs`} left: ${numbers.join(', ')}`,
    ...(isDrained && reason !== null ? [`  drained: ${plain(reason)}`] : []),
    ...table(['NAMESPACE', 'VMI', 'OWNER', 'STATE', 'WHAT HAPPENS'], items.map(cellsOf)),
  ];
}

function cellsOf({ namespace, name, owner, state, message }: NodeReportItem): Cell[] {
  const style = STYLES[state];
  return [namespace, name, owner ?? '<none>', style === undefined ? state : { text: state, style }, message];
}
