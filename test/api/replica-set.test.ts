import { describe, expect, test } from 'vitest';
import { VirtualMachineReplicaSet } from '../../api/replica-set/replica-set.ts';
import { bareSet, REFUSED, TAKEN } from './replica-sets.ts';

const messagesFor = (set: object): string[] =>
  VirtualMachineReplicaSet.safeParse(set).error?.issues.map(({ message }) => message) ?? [];

describe('a replica set', () => {
  test.each(Object.entries(TAKEN))('may have %s', (_, set) => expect(messagesFor(set)).toEqual([]));

  test.each(Object.entries(REFUSED))('is refused for %s, in one sentence', (_, [set, sentence]) =>
    expect(messagesFor(set)).toEqual([sentence]),
  );

  test('is refused for a name of its VMs: the set gives these', () => {
    const { spec, ...rest } = bareSet();
    const template = { ...spec.template, metadata: { ...spec.template.metadata, name: 'test' } };
    expect(messagesFor({ ...rest, spec: { ...spec, template } })).toHaveLength(1);
  });

  test('is refused for a name that leaves no room for those of its VMs', () => {
    const set = bareSet();
    expect(messagesFor({ ...set, metadata: { ...set.metadata, name: 'a'.repeat(58) } })).toEqual([
      expect.stringContaining('VMs are named <set>-<five letters and digits>'),
    ]);
  });

  test.each(['replicas', 'selector', 'template'])('is refused without %s', (field) => {
    const { spec, ...rest } = bareSet();
    const { [field as keyof typeof spec]: _, ...others } = spec;
    expect(VirtualMachineReplicaSet.safeParse({ ...rest, spec: others }).success).toBe(false);
  });
});
