import '../world/real-code.ts';
import { expect, test } from 'vitest';
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
