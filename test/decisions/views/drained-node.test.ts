import { expect, test } from 'vitest';
import { nodeView, type Node } from '../../../decisions/from-object/node.ts';
import { countNodes } from '../../../decisions/health/node-outage.ts';
import { withNode } from '../../../decisions/views/drained-node.ts';
import { aVm, aVmi } from '../fixtures/fleets.ts';

const SINCE = '2026-11-28T12:00:00Z';
const LABELS: Record<string, string> = { 'kubevirt.io/schedulable': 'false' };

const node = (name: string, status: string, fields: Omit<Node, 'metadata' | 'status'> = {}, labels = LABELS): Node => ({
  metadata: { name, labels },
  status: { conditions: [{ type: 'Ready', status, lastTransitionTime: SINCE }] },
  ...fields,
});
const nodes = new Map(
  [node('up', 'True'), node('down', 'Unknown'), node('drained', 'False', { spec: { unschedulable: true } })].map(
    (one) => [one.metadata.name, nodeView(one)],
  ),
);

test.each([
  ['up', true, { nodeLost: false, nodeDrained: false, nodeSince: null }],
  ['up', false, { nodeLost: false, nodeDrained: false, nodeSince: Date.parse(SINCE) }],
  ['down', false, { nodeLost: true, nodeDrained: false, nodeSince: Date.parse(SINCE) }],
  ['drained', false, { nodeLost: true, nodeDrained: true, nodeSince: Date.parse(SINCE) }],
  ['deleted', true, { nodeLost: true, nodeDrained: false, nodeSince: null }],
])('what is known of a VMI from its node: %s, while its readiness is %s', (name, ready, expected) => {
  const vmi = aVmi(aVm('web-1'), { node: name, ready });
  expect(withNode(vmi, (one) => nodes.get(one), 'kubevirt.io/drain')).toMatchObject(expected);
});

test('of nodes, only those count that KubeVirt has a virt-handler on', () => {
  const others = [node('control-plane', 'True', {}, {}), node('storage', 'False', {}, {})].map(nodeView);
  expect(countNodes([...nodes.values(), ...others])).toEqual({ lost: 2, all: 3 });
});
