import '../world/real-code.ts';
import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { aSetSpec, SETS } from '../sets.ts';
import { play } from './story.ts';

test('a place in a strict set is free once its VM is gone, though a worker freezes as it fills it', () =>
  play(
    async (world) => {
      const kind = 'VirtualMachineReplicaSet';
      const statusOfSet = (): { readyReplicas?: number } => world.owner(kind, SETS[kind])?.['status'] ?? {};
      const isComplete = (): boolean => statusOfSet().readyReplicas === 5;
      const { metadata } = await world.people.createOwner(kind, SETS[kind], aSetSpec(kind, 5, { stopMs: 2_000 }));
      expect(await world.until(isComplete, 60_000)).toBe(true);
      for (const frozen of world.workers) {
        for (const member of world.membersOf(kind, metadata.uid).slice(0, 3))
          await world.people.deleteMember(kind, member.metadata.name);
        await world.wait(world.time.between(50, 400));
        world.freeze(frozen);
        await world.wait(30_000);
        world.thaw(frozen);
        expect(await world.until(isComplete, 120_000)).toBe(true);
      }
    },
    { owners: ['VirtualMachinePool', 'VirtualMachineReplicaSet'] },
  ));

// Seeds in which the deletions are with the worker that is cut off, and that worker deletes before its watch continues.
test.each([
  ['seven', [1_000, 5_000, 1_000], [2, 41, 67]],
  ['twelve', [300, 9_000, 3_000], [19, 56, 74]],
] as const)(
  'a scale-in leaves as many as are wanted, though users deleted others while its worker was cut off for %s seconds',
  (_, [before, meanwhile, after], seeds) =>
    play(
      async (world) => {
        const kind = 'VirtualMachineReplicaSet';
        const { metadata } = await world.people.createOwner(kind, SETS[kind], aSetSpec(kind, 6));
        const members = (): Stored[] => world.membersOf(kind, metadata.uid);
        expect(await world.until(() => members().length === 6, 60_000)).toBe(true);
        await world.wait(20_000);
        world.cutOff(world.workers[0]!, true);
        await world.wait(before);
        await world.people.changeOwner(kind, SETS[kind], { replicas: 3 });
        await world.wait(meanwhile);
        for (const member of members().slice(0, 2)) await world.people.deleteMember(kind, member.metadata.name);
        await world.wait(after);
        world.cutOff(world.workers[0]!, false);
        expect(await world.until(() => members().length === 3, 120_000)).toBe(true);
      },
      { owners: ['VirtualMachinePool', 'VirtualMachineReplicaSet'] },
      seeds,
    ),
);
