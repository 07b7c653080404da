import { nodeReport, type NodeReportItem } from '../../decisions/drain/node-report.ts';
import { byNumber } from '../../decisions/lib/names.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { note, print, table, type Cell, type Style } from '../cli/output.ts';
import { printData, type DataFormat } from '../rollout/data.ts';
import { readNode } from './read.ts';

/** Prints which VMIs are left on the node, and what each waits for, or says that there are none. */
export async function printNode(kube: KubeClient, node: string, output?: DataFormat): Promise<void> {
  const left = nodeReport({ ...(await readNode(kube, node)), now: Date.now() }).sort(
    (one, other) => byNumber(one.namespace, other.namespace) || byNumber(one.name, other.name),
  );
  if (output !== undefined) return printData({ node, items: left }, output);
  if (left.length === 0) return note(`no VMI is on node ${node}`);
  print(table(['NAMESPACE', 'VMI', 'OWNER', 'STATE', 'WHAT HAPPENS'], left.map(cellsOf)).join('\n'));
}

const STYLES: Partial<Record<NodeReportItem['state'], Style>> = { Stuck: 'red', Blocked: 'red', Evacuating: 'green' };

function cellsOf({ namespace, name, owner, state, message }: NodeReportItem): Cell[] {
  const style = STYLES[state];
  return [namespace, name, owner ?? '<none>', style === undefined ? state : { text: state, style }, message];
}
