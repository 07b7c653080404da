import { describe, expect, test } from 'vitest';
import { newNode, withReadiness } from '../../../simulator/controllers/node-controller.ts';
import { fits, isLost, nextNode } from '../../../simulator/vmi/scheduling.ts';
import { vmiSpec, node, NOW } from '../simulated.ts';

const all = (): boolean => true;

describe('scheduling', () => {
  const nodes = [node('n3'), node('n1', { zone: 'a' }), node('n2', { zone: 'a' })];

  test('alternates among the nodes that fit', () => {
    expect(nextNode(nodes, undefined, all)).toBe('n1');
    expect(nextNode(nodes, 'n1', all)).toBe('n2');
    expect(nextNode(nodes, 'n3', all)).toBe('n1');
    expect(nextNode(nodes, 'n2', ({ metadata }) => metadata.labels?.['zone'] === 'a')).toBe('n1');
    expect(nextNode(nodes, undefined, () => false)).toBeUndefined();
  });

  test.each([
    ['a node', node('n'), {}, 'q35', true],
    ['the node selector', node('n'), { nodeSelector: { zone: 'a' } }, 'q35', false],
    ['the node selector', node('n', { zone: 'a' }), { nodeSelector: { zone: 'a' } }, 'q35', true],
    ['the machine type', node('n'), {}, 'pc-q35-rhel7.6.0', false],
    ['the architecture', node('n', { 'kubernetes.io/arch': 'amd64' }), { architecture: 'arm64' }, 'q35', false],
    ['the architecture', node('n', { 'kubernetes.io/arch': 'amd64' }), { architecture: 'amd64' }, 'q35', true],
    ['the mark', node('n', { 'kubevirt.io/schedulable': 'false' }), {}, 'q35', false],
    ['a lost node', node('n', {}, { annotations: { 'sim.drover.dev/lost': 'true' } }), {}, 'q35', false],
    ['a cordoned node', { ...node('n'), spec: { unschedulable: true } }, {}, 'q35', false],
  ])('honours %s', (_what, candidate, spec, machineType, expected) => {
    expect(fits(candidate, vmiSpec(spec), machineType)).toBe(expected);
  });
});

describe('nodes', () => {
  const lost = { annotations: { 'sim.drover.dev/lost': 'true' } };
  const made = newNode('n', NOW);
  const stored = (metadata = {}) => ({ ...made, metadata: { ...node('n').metadata, ...metadata } });

  test('include a lost one with an unknown readiness until the label goes', () => {
    expect(withReadiness(stored(), NOW)).toEqual(stored());
    expect([stored(lost), node('unkept', {}, lost), node('unkept')].map(isLost)).toEqual([false, true, false]);
    const away = withReadiness(stored(lost), NOW);
    expect(isLost(away)).toBe(true);
    expect(away.status?.conditions).toEqual([
      expect.objectContaining({ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }),
    ]);
    expect(withReadiness({ ...away, metadata: node('n').metadata }, NOW).status?.conditions).toEqual([
      expect.objectContaining({ status: 'True' }),
    ]);
  });
});
