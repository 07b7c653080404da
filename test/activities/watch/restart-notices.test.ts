import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { restartNotices } from '../../../activities/watch/restart-notices.ts';
import type { Stored } from '../../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { SHOP, World } from '../forged/world.ts';
import { watchOf } from './watch-of.ts';

/** KubeVirt says since so many seconds that the VM waits for a restart. */
function waits(world: World, vm: Stored, seconds: number): void {
  const lastTransitionTime = new Date(Date.now() - seconds * 1_000).toISOString();
  const conditions = [{ type: 'RestartRequired', status: 'True', message: 'a field was changed', lastTransitionTime }];
  world.server.write(
    VirtualMachines,
    vm.metadata,
    ({ status, ...rest }) => ({ ...rest, status: { ...(status as object), conditions } }),
    'status',
  );
}

/** A worker that begins to watch: returns what it does every few seconds. */
function watching({ client, cache }: World, signal = new AbortController().signal): () => Promise<void> {
  const look = restartNotices(client.asClient, cache, signal, () => true);
  return () => new MockActivityEnvironment().run(look) as Promise<void>;
}

test('a VM that waits for a restart gets one Event, whichever workers watch, and the next for the next change', async () => {
  const world = new World();
  const vm = world.other(SHOP, 'db');
  waits(world, vm, 70);
  await world.start();
  const look = watching(world);
  await look();
  await look();
  expect(world.client.events).toMatchObject([
    {
      type: 'Warning',
      reason: 'RestartRequired',
      message: 'waits for a restart: a field was changed: `drover vm restart db`',
      involvedObject: { kind: 'VirtualMachine', namespace: SHOP, name: 'db', uid: vm.metadata.uid },
    },
  ]);
  await watching(world)();
  const [first, again] = world.client.events;
  expect(again!.metadata.name).toBe(first!.metadata.name);
  waits(world, vm, 61);
  await expect
    .poll(() => world.cache.vms.get(`${SHOP}/db`)?.restartRequired?.since)
    .toBeGreaterThan(Date.now() - 65_000);
  await look();
  expect(world.client.events).toHaveLength(3);
  expect(world.client.events[2]!.metadata.name).not.toBe(first!.metadata.name);
});

test.each<[string, (world: World, vm: Stored) => void]>([
  ['has waited for less than a minute', (world, vm) => waits(world, vm, 50)],
  ['has waited for long, so that a worker has told it', (world, vm) => waits(world, vm, 700)],
  [
    'still waits after a restart that changed nothing',
    (world, vm) => {
      waits(world, vm, 70);
      const { uid, generation } = vm.metadata;
      world.server.write(
        VirtualMachineInstances,
        vm.metadata,
        ({ status, ...rest }) => ({
          ...rest,
          status: { ...(status as object), virtualMachineRevisionName: `revision-start-vm-${uid}-${generation}` },
        }),
        'status',
      );
    },
  ],
  ['waits for nothing', () => {}],
])('a VM gets no Event if it %s', async (_title, change) => {
  const world = new World();
  change(world, world.other(SHOP, 'db'));
  await world.start();
  await watching(world)();
  expect(world.client.events).toEqual([]);
});

test('VMs that wait are told one after another, and no more once the worker no longer watches', async () => {
  const world = new World();
  for (const name of ['a', 'b', 'c']) waits(world, world.other(SHOP, name), 70);
  await world.start();
  const ended = new AbortController();
  const create = world.client.create.bind(world.client);
  world.client.create = (...args) => {
    ended.abort();
    return create(...args);
  };
  await watching(world, ended.signal)();
  expect(world.client.events).toHaveLength(1);
});

test('a worker that watches looks for such VMs', async () => {
  const world = new World();
  waits(world, world.other(SHOP, 'db'), 70);
  await world.start();
  const { stop } = watchOf(world);
  await expect.poll(() => world.client.events).toMatchObject([{ reason: 'RestartRequired' }]);
  await stop();
});
