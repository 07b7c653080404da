import { describe, expect, test } from 'vitest';
import { VirtualMachineInstanceReplicaSet, VirtualMachineReplicaSet } from '../../../api/replica-set/replica-set.ts';
import { bareInstanceSet, bareSet, REFUSED, REFUSED_INSTANCES, TAKEN, TAKEN_INSTANCES } from './replica-sets.ts';

const messagesFor = (set: object): string[] =>
  VirtualMachineReplicaSet.safeParse(set).error?.issues.map(({ message }) => message) ?? [];

describe('a replica set', () => {
  test.each(Object.entries(TAKEN))('may have %s', (_, set) => expect(messagesFor(set)).toEqual([]));

  test.each(Object.entries(REFUSED))('is refused for %s, in one sentence', (_, [set, sentence]) =>
    expect(messagesFor(set)).toEqual([sentence]),
  );

  test('is refused for a name of its VMs, which the set gives', () => {
    const { spec, ...rest } = bareSet();
    const template = { ...spec.template, metadata: { ...spec.template.metadata, name: 'test' } };
    expect(messagesFor({ ...rest, spec: { ...spec, template } })).toHaveLength(1);
  });

  test('is refused for a name that leaves no room for the names of its VMs', () => {
    const set = bareSet();
    expect(messagesFor({ ...set, metadata: { ...set.metadata, name: 'a'.repeat(58) } })).toEqual([
      expect.stringContaining('VMs are named <set>-<five letters and digits>'),
    ]);
  });

  test.each(['selector', 'template'])('is refused without %s', (field) => {
    const { spec, ...rest } = bareSet();
    const { [field as keyof typeof spec]: _, ...others } = spec;
    expect(VirtualMachineReplicaSet.safeParse({ ...rest, spec: others }).success).toBe(false);
  });
});

const messagesForInstances = (set: object): string[] =>
  VirtualMachineInstanceReplicaSet.safeParse(set).error?.issues.map(({ message }) => message) ?? [];

test.each([{ matchLabels: null }, { matchExpressions: null }, null, 7])(
  'a selector %j, which YAML may hold, is reported like any other fault',
  (selector) => {
    const { spec, ...rest } = bareSet();
    expect(messagesFor({ ...rest, spec: { ...spec, selector } })).toHaveLength(1);
  },
);

describe('a replica set of VMIs', () => {
  test.each(Object.entries(TAKEN_INSTANCES))('may have %s', (_, set) => expect(messagesForInstances(set)).toEqual([]));

  test.each(Object.entries(REFUSED_INSTANCES))('is refused for %s, in one sentence', (_, [set, sentence]) =>
    expect(messagesForInstances(set)).toEqual([expect.stringContaining(sentence)]),
  );

  test('is refused for a template of a VM, which holds no domain', () => {
    const { template } = bareSet().spec;
    expect(messagesForInstances(bareInstanceSet({ template: template as never }))).toContainEqual(
      expect.stringContaining('must hold domain: the spec of a VirtualMachineInstance'),
    );
  });

  test('is refused for a name of its VMIs, which the set gives', () => {
    const { template } = bareInstanceSet().spec;
    const named = { ...template, metadata: { ...template.metadata, name: 'test' } };
    expect(messagesForInstances(bareInstanceSet({ template: named }))).toHaveLength(1);
  });
});
