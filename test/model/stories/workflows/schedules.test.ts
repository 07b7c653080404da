import '../../world/real-code.ts';
import { expect, test } from 'vitest';
import { VirtualMachineOperations, VirtualMachineOperationSchedules } from '../../../../api/resources.ts';
import type { ScheduleSpec } from '../../../../api/schedules/schedule.ts';
import type { StoredSchedule } from '../../../../decisions/views/stored-schedule.ts';
import { scheduleIdOf } from '../../../../workflows/lib/messages.ts';
import { CLUSTER, NAMESPACE } from '../../world/names.ts';
import type { World } from '../../world/world.ts';
import { play } from '../story.ts';
import { misfortune } from './misfortune.ts';

const MINUTE_MS = 60_000;

function make(world: World, spec: Partial<ScheduleSpec> = {}): StoredSchedule {
  return world.server.create(VirtualMachineOperationSchedules, {
    metadata: { namespace: NAMESPACE, name: 'stop', generation: 1 },
    spec: {
      schedule: '*/10 * * * *',
      operationTemplate: { spec: { action: 'Stop', vms: { names: ['db'] } } },
      ...spec,
    },
  }) as unknown as StoredSchedule;
}

/** Every operation that was ever made, by its name. */
const madeIn = (world: World): string[] =>
  world.server
    .kind(VirtualMachineOperations)
    .events.filter(({ before }) => before === undefined)
    .map(({ object }) => object.metadata.name);

const nameAt = (time: number): string => `stop-${time / MINUTE_MS}`;

/** All operations that continue have done all, as their workflows would tell. */
function endAll(world: World): void {
  const at = new Date(world.time.now).toISOString();
  for (const { metadata, status } of world.server.all(VirtualMachineOperations)) {
    if ((status as { completionTime?: string } | undefined)?.completionTime !== undefined) continue;
    const conditions = [{ type: 'Complete', status: 'True', reason: 'Complete' }];
    world.server.write(
      VirtualMachineOperations,
      metadata,
      (before) => ({ ...before, status: { completionTime: at, conditions } }),
      'status',
    );
  }
}

test('each time has one operation, whichever worker is killed, frozen, cut off or ended', () =>
  play(
    async (world) => {
      const schedule = make(world, { concurrencyPolicy: 'Allow' });
      const began = Math.floor(world.time.now / MINUTE_MS) * MINUTE_MS;
      const end = began + 120 * MINUTE_MS;
      while (world.time.now < end) {
        await world.wait(world.time.between(10_000, 4 * MINUTE_MS));
        await misfortune(world, scheduleIdOf({ cluster: CLUSTER, ...schedule.metadata }), 15 * MINUTE_MS);
        endAll(world);
      }
      await world.wait(2 * MINUTE_MS);
      endAll(world);
      await world.wait(MINUTE_MS);
      const made = madeIn(world);
      expect(new Set(made).size).toBe(made.length);
      // One worker is enough, so that no time is missed for long.
      const last = Math.floor(end / (10 * MINUTE_MS)) * 10 * MINUTE_MS;
      for (let time = began + 10 * MINUTE_MS; time <= last; time += 10 * MINUTE_MS)
        expect(made).toContain(nameAt(time));
      expect(world.server.all(VirtualMachineOperations).length).toBeLessThanOrEqual(4);
    },
    {},
    4,
  ));

test('a worker that was frozen as it made an operation makes none for that time when it continues', () =>
  play(async (world) => {
    make(world, { successfulOperationsHistoryLimit: 0 });
    let frozen: (typeof world.workers)[number] | undefined;
    world.onlookers.push({
      onWrite: ({ resource }, call) => {
        if (frozen !== undefined || resource.plural !== VirtualMachineOperations.plural) return;
        frozen = world.workers.find(({ process }) => process === call?.process);
        if (frozen !== undefined) world.freeze(frozen);
      },
    });
    expect(await world.until(() => frozen !== undefined, 11 * MINUTE_MS)).toBe(true);
    endAll(world);
    // Others do the rest, and delete what is not kept.
    expect(await world.until(() => world.server.all(VirtualMachineOperations).length === 0, 2 * MINUTE_MS)).toBe(true);
    world.thaw(frozen!);
    await world.wait(5 * MINUTE_MS);
    expect(madeIn(world)).toHaveLength(1);
  }));
