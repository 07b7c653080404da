import { expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { World } from '../forged/world.ts';

const MINUTE = 60_000;
const at = (ms: number): string => new Date(Date.now() - ms).toISOString();

const change = (status: object) => (before: Stored) => ({
  ...before,
  status: { ...(before as Status).status, ...status },
});

test('a VM that was unpaused a moment ago is not deleted because it was not ready before', async () => {
  const world = new World();
  const pool = world.pool('web', { autohealing: { unhealthyAfter: { notReady: '10m' } } });
  const vm = world.vm(pool, 1, { annotations: {} });
  const unready = { type: 'Ready', status: 'False', lastTransitionTime: at(60 * MINUTE) };
  const scheduled = { phase: 'Scheduled', phaseTransitionTimestamp: at(90 * MINUTE) };
  world.server.write(VirtualMachines, vm.metadata, change({ ready: false, conditions: [unready] }), 'status');
  world.server.write(
    VirtualMachineInstances,
    vm.metadata,
    change({ conditions: [unready], phaseTransitionTimestamps: [scheduled] }),
    'status',
  );
  await world.start();
  const { namespace, name, uid } = pool.metadata;
  const removal = (pauseEndedAt: number | null): Promise<string[]> =>
    world.written('removeUnhealthyVm', [
      { namespace, name, uid },
      {
        name: vm.metadata.name,
        uid: vm.metadata.uid,
        attempt: 1,
        message: 'it is not ready for 10m',
        rules: { backoff: {}, maxAttempts: null },
        mayHaveData: true,
        earlyExits: 0,
        failingSince: null,
        pauseEndedAt,
      },
      Date.now(),
    ]);
  expect([await removal(Date.now() - MINUTE), world.answer]).toEqual([
    [],
    { end: 'Kept', message: 'it is no longer unhealthy' },
  ]);
  expect(await removal(null)).not.toEqual([]);
});

type Status = { status?: object };
