import '../../world/real-code.ts';
import { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import type { OperationSpec } from '../../../../api/operations/operation.ts';
import { VirtualMachineOperations, VirtualMachines } from '../../../../api/resources.ts';
import { RESTORED } from '../../../../decisions/operations/restored.ts';
import type { StoredOperation } from '../../../../decisions/views/stored-operation.ts';
import { operationIdOf } from '../../../../workflows/lib/messages.ts';
import { isReady } from '../../facts.ts';
import { NAMESPACE, refOf } from '../../world/names.ts';
import type { World } from '../../world/world.ts';
import { play } from '../story.ts';

const MINUTE = 60_000;
const [OLD_TYPE, NEW_TYPE] = ['pc-q35-rhel8.6.0', 'pc-q35-rhel9.4.0'];
const NAMES = ['lone-1', 'lone-2', 'lone-3'];

async function failsToStart(world: World, name: string, how: 'always' | null): Promise<void> {
  const metadata = { annotations: { 'sim.drover.dev/fail-starts': how } };
  const spec = { template: { metadata } };
  await world.people.client.patch(VirtualMachines, { namespace: NAMESPACE, name }, 'merge', { spec });
}

/** What restarts one VM at a time, and may fail for one. */
const RESTARTS: Partial<OperationSpec>[] = [
  { action: 'Restart', atOnce: 1, deadline: '10m', order: { basePolicy: 'Oldest' } },
  { action: 'MachineType', atOnce: 1, deadline: '10m', machineType: { from: OLD_TYPE, to: NEW_TYPE, restart: true } },
];

test.each(RESTARTS)('a $action whose workflow is terminated begins anew, and its failures still count', (restarts) =>
  play(
    async (world) => {
      for (const name of NAMES) await world.people.createVm(name, { bootMs: 1_000, machineType: OLD_TYPE });
      expect(await world.until(() => NAMES.every((name) => isReady(world.vmi(name))), MINUTE)).toBe(true);
      for (const name of NAMES) await failsToStart(world, name, 'always');
      await world.wait(2_000);
      const before = new Map(NAMES.map((name) => [name, world.vmi(name)!.metadata.uid]));
      const { metadata } = world.server.create(VirtualMachineOperations, {
        metadata: { namespace: NAMESPACE, name: 'restart' },
        spec: {
          vms: { names: NAMES },
          maxFailures: 1,
          ...restarts,
        },
      });
      const status = (): StoredOperation['status'] =>
        (world.server.find(VirtualMachineOperations, { namespace: NAMESPACE, name: 'restart' }) as StoredOperation)
          .status;
      expect(await world.until(() => status()?.vms?.failed === 1, 30 * MINUTE)).toBe(true);
      // It comes up after all, so that it has not failed by what is seen of it.
      const [{ vm } = { vm: '' }] = status()!.failures!;
      await failsToStart(world, vm, null);
      expect(await world.until(() => isReady(world.vmi(vm)), 10 * MINUTE)).toBe(true);
      const workflowId = operationIdOf({ ...refOf('restart'), uid: metadata.uid });
      world.temporal.terminate(workflowId);
      expect(await world.until(() => status()?.completionTime !== undefined, 60 * MINUTE)).toBe(true);
      expect(status()!.vms).toMatchObject({ failed: 2 });
      // Each acts in its first run: a new one would be held up for the rest of the first second of the old one.
      expect(world.temporal.past.filter(({ id }) => id === workflowId)).toHaveLength(2);
      const untouched = NAMES.filter((name) => world.vmi(name)?.metadata.uid === before.get(name));
      expect(untouched).toHaveLength(1);
    },
    { operations: true },
  ),
);

test('a restart that begins anew acts on the VMs that are chosen then, in a new run', () =>
  play(
    async (world) => {
      for (const name of NAMES) await world.people.createVm(name, { bootMs: 1_000 });
      expect(await world.until(() => NAMES.every((name) => isReady(world.vmi(name))), MINUTE)).toBe(true);
      const before = new Map(NAMES.map((name) => [name, world.vmi(name)!.metadata.uid]));
      const restarted = () => NAMES.filter((name) => world.vmi(name)?.metadata.uid !== before.get(name));
      const ready = () => restarted().filter((name) => isReady(world.vmi(name)));
      let isRestored = false;
      for (const { activities } of world.workers) {
        const changePower = activities['changePower']!;
        activities['changePower'] = (...args) => {
          if (isRestored || ready().length === 0) return changePower(...args);
          isRestored = true;
          return Promise.reject(ApplicationFailure.nonRetryable('it was restored', RESTORED));
        };
      }
      const { metadata } = world.server.create(VirtualMachineOperations, {
        metadata: { namespace: NAMESPACE, name: 'restart' },
        spec: { action: 'Restart', vms: { names: NAMES }, atOnce: 1 },
      });
      const status = () => (world.server.find(VirtualMachineOperations, metadata) as StoredOperation).status;
      expect(await world.until(() => status()?.completionTime !== undefined, 60 * MINUTE)).toBe(true);
      expect(isRestored).toBe(true);
      expect(restarted()).toEqual(NAMES);
      expect(status()!.vms).toMatchObject({ failed: 0, open: 0 });
      const workflowId = operationIdOf({ ...refOf('restart'), uid: metadata.uid });
      const runs = world.temporal.past.filter(({ id }) => id === workflowId);
      expect(runs.map((run) => run.status)).toEqual(['CONTINUED', 'COMPLETED']);
    },
    { operations: true },
  ));

test('a worker that is behind leaves none of the chosen VMs out', () =>
  play(
    async (world) => {
      const names = Array.from({ length: 6 }, (_, n) => `new-${n}`);
      const [, deaf] = world.workers;
      deaf!.process.deafUntil = world.time.now + 10 * MINUTE;
      for (const name of names) await world.people.createVm(name, { bootMs: 1_000 });
      expect(await world.until(() => names.every((name) => isReady(world.vmi(name))), MINUTE)).toBe(true);
      const metadata = { namespace: NAMESPACE, name: 'stop' };
      world.server.create(VirtualMachineOperations, { metadata, spec: { action: 'Stop', vms: { names } } });
      const status = () => (world.server.find(VirtualMachineOperations, metadata) as StoredOperation).status;
      expect(await world.until(() => status()?.completionTime !== undefined, 60 * MINUTE)).toBe(true);
      expect(status()!.vms).toMatchObject({ chosen: 6, done: 6 });
    },
    { operations: true },
    8,
  ));

test('a chosen VM that is deleted meanwhile still counts as chosen, and holds up nothing', () =>
  play(
    async (world) => {
      for (const name of NAMES) await world.people.createVm(name, { bootMs: 60_000 });
      expect(await world.until(() => NAMES.every((name) => isReady(world.vmi(name))), 5 * MINUTE)).toBe(true);
      const chosen = new Set<number | undefined>();
      world.onlookers.push({
        onWrite: ({ resource, after }) => {
          const { vms } = (after as StoredOperation | undefined)?.status ?? {};
          if (resource === VirtualMachineOperations && vms !== undefined) chosen.add(vms.chosen);
        },
      });
      const metadata = { namespace: NAMESPACE, name: 'restart' };
      const spec = { action: 'Restart', vms: { names: NAMES }, atOnce: 1 };
      world.server.create(VirtualMachineOperations, { metadata, spec });
      const status = () => (world.server.find(VirtualMachineOperations, metadata) as StoredOperation).status;
      expect(await world.until(() => status()?.vms?.inProgress === 1, MINUTE)).toBe(true);
      const [other] = NAMES.filter((name) => !status()!.inProgress!.includes(name));
      world.server.delete(VirtualMachines, { namespace: NAMESPACE, name: other! });
      expect(await world.until(() => status()?.completionTime !== undefined, 60 * MINUTE)).toBe(true);
      expect(status()!.vms).toMatchObject({ chosen: 3, done: 2, failed: 0, open: 0 });
      expect([...chosen]).toEqual([3]);
    },
    { operations: true },
  ));
