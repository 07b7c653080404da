import { describe, expect, test } from 'vitest';
import { nodeView, type Node } from '../../../decisions/from-object/node.ts';
import { countNodes } from '../../../decisions/health/node-outage.ts';
import { placementOf } from '../../../decisions/template/placement.ts';
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
  expect(withNode(vmi, nodes, 'kubevirt.io/drain')).toMatchObject(expected);
});

test('of nodes, only those count that KubeVirt has a virt-handler on', () => {
  const others = [node('control-plane', 'True', {}, {}), node('storage', 'False', {}, {})].map(nodeView);
  expect(countNodes([...nodes.values(), ...others])).toEqual({ lost: 2, all: 3 });
});

describe('of a VMI whose node is drained is said why no other node takes it:', () => {
  const takes = { 'kubevirt.io/schedulable': 'true', zone: 'a' };
  const tainted = { spec: { taints: [{ key: 'gpu', effect: 'NoSchedule' }] } };
  const others: Record<string, Node[]> = {
    none: [],
    one: [node('other', 'True', {}, takes)],
    silent: [node('other', 'False', {}, takes)],
    cordoned: [node('other', 'True', { spec: { unschedulable: true } }, takes)],
    foreign: [node('other', 'True', {}, { zone: 'a' })],
    tainted: [node('other', 'True', tainted, takes)],
  };
  const selects = { nodeSelector: { zone: 'b', 'kubernetes.io/hostname': 'drained' } };
  const expression = { key: 'zone', operator: 'NotIn', values: ['a'] };
  const required = { nodeSelectorTerms: [{ matchExpressions: [expression] }] };
  const avoids = { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } } };

  test.each<[string, object, string | null]>([
    ['none', {}, 'no other node takes VMs'],
    ['one', {}, null],
    ['silent', {}, 'no other node takes VMs'],
    ['cordoned', {}, 'no other node takes VMs'],
    ['foreign', {}, 'no other node takes VMs'],
    ['one', { nodeSelector: { zone: 'a' } }, null],
    ['one', selects, 'no other node has kubernetes.io/hostname=drained, zone=b'],
    ['one', avoids, 'no other node fits its node selector and affinity'],
    ['tainted', {}, 'it does not tolerate the taints of any other node'],
    ['tainted', { tolerations: [{ key: 'gpu', operator: 'Exists' }] }, null],
    ['tainted', { tolerations: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] }, null],
    ['tainted', { tolerations: [{ operator: 'Exists' }] }, null],
    [
      'tainted',
      { tolerations: [{ key: 'gpu', effect: 'NoExecute' }] },
      'it does not tolerate the taints of any other node',
    ],
    ['tainted', { tolerations: [{ key: 'tpu' }] }, 'it does not tolerate the taints of any other node'],
  ])('%s, %j: %j', (which, placement, expected) => {
    const drained = node('drained', 'True', { spec: { unschedulable: true } }, takes);
    const all = new Map([drained, ...others[which]!].map((one) => [one.metadata.name, nodeView(one)]));
    const vmi = aVmi(aVm('web-1'), { node: 'drained', placement: placementOf(placement) });
    expect(withNode(vmi, all, 'kubevirt.io/drain')).toMatchObject({ nodeDrained: true, whyNoOtherNode: expected });
    expect(withNode({ ...vmi, node: 'other' }, all, 'kubevirt.io/drain').whyNoOtherNode).toBe(
      which === 'cordoned' ? 'no other node takes VMs' : null,
    );
  });
});
