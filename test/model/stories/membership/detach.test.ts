import '../../world/real-code.ts';
import { expect, test } from 'vitest';
import { POOL_LABEL, REVISION_LABEL } from '../../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../../api/objects.ts';
import {
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
} from '../../../../api/resources.ts';
import type { StoredPool } from '../../../../decisions/views/pool.ts';
import { activityNow, isDeletion } from '../../facts.ts';
import { aTemplate } from '../../pools.ts';
import type { Write } from '../../world/api-server.ts';
import { NAMESPACE } from '../../world/names.ts';
import type { World } from '../../world/world.ts';
import { begun, play } from '../story.ts';

const MINUTE_MS = 60_000;

test('a VM that is detached before a worker sees that KubeVirt has observed its new spec is not restarted', async () => {
  let detached = 0;
  await play(
    async (world) => {
      await begun(world, { replicas: 3 });
      const revisionOf = (name: string): string | undefined => world.vm(name)?.metadata.labels?.[REVISION_LABEL];
      const before = revisionOf('web-1');
      await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
      const written = (): string | undefined => ['web-1', 'web-2', 'web-3'].find((name) => revisionOf(name) !== before);
      expect(await world.until(() => written() !== undefined, MINUTE_MS)).toBe(true);
      const name = written()!;
      const { uid, deletionTimestamp } = world.vmi(name)?.metadata ?? {};
      // With this seed, the worker has seen it at once.
      if (uid === undefined || deletionTimestamp !== undefined) return;
      detached++;
      await world.people.detach(name);
      expect(await world.until(() => world.vm(name)!.metadata.labels?.[POOL_LABEL] === undefined, MINUTE_MS)).toBe(
        true,
      );
      await world.wait(MINUTE_MS);
      expect(world.vmi(name)?.metadata.uid).toBe(uid);
    },
    { lag: 2_000 },
    4,
  );
  expect(detached).toBeGreaterThan(0);
});

/** Names of VMs that are detached as soon as `when` names them, and whether their VMIs were ended by workers. */
function detachedAt(world: World, when: (write: Write) => string | undefined) {
  const left = new Set<string>();
  const ended: string[] = [];
  world.onlookers.push({
    onWrite: (write) => {
      const { resource, before, after } = write;
      const isEnded = resource === VirtualMachineInstances && before !== undefined && isDeletion(before, after);
      if (isEnded && activityNow() !== null && left.has(before.metadata.name)) ended.push(before.metadata.name);
      const name = when(write);
      if (name === undefined || left.has(name)) return;
      left.add(name);
      world.server.write(VirtualMachines, { namespace: NAMESPACE, name }, ({ metadata, ...vm }) => {
        const { ownerReferences: _owners, ...others } = metadata;
        return { ...vm, metadata: others };
      });
    },
  });
  return { left, ended };
}

const isChanged = (vm: Stored | undefined): boolean => (vm?.metadata.generation ?? 1) > 1;
const isObserved = (vm: Stored | undefined): boolean =>
  (vm?.['status'] as { observedGeneration?: number } | undefined)?.observedGeneration === vm?.metadata.generation;

test('a VM that is detached as KubeVirt observes its new spec is not restarted, whatever a cache still shows', async () => {
  let count = 0;
  await play(
    async (world) => {
      await begun(world, { replicas: 6, maxUnavailable: 2 });
      const { left, ended } = detachedAt(world, ({ resource, before, after }) =>
        resource === VirtualMachines &&
        activityNow() === null &&
        !isObserved(before) &&
        isObserved(after) &&
        isChanged(after)
          ? after?.metadata.name
          : undefined,
      );
      await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
      await world.wait(MINUTE_MS);
      expect(ended).toEqual([]);
      count += left.size;
    },
    { lag: 500 },
    4,
  );
  expect(count).toBeGreaterThan(0);
});

test('a VM that is detached while it has a claim in the budget is neither restarted nor migrated', async () => {
  let count = 0;
  for (const method of ['Restart', 'Migrate'] as const)
    await play(async (world) => {
      await begun(world, { replicas: 2, drain: { method } });
      const { left, ended } = detachedAt(world, ({ resource, after }) =>
        resource === VirtualMachinePools
          ? (after as (Stored & StoredPool) | undefined)?.status?.disruptedVMs?.at(-1)?.vm
          : undefined,
      );
      world.kubevirt.evict('web-1', false);
      await world.wait(MINUTE_MS);
      expect(ended).toEqual([]);
      expect(world.server.all(VirtualMachineInstanceMigrations)).toEqual([]);
      count += left.size;
    });
  expect(count).toBeGreaterThan(0);
});
