import '../world/real-code.ts';
import { expect, test } from 'vitest';
import { POWER_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import type { DrainMethod } from '../../../api/pool/drain.ts';
import type { PoolStatus } from '../../../api/pool/pool.ts';
import {
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import type { Migration } from '../../../simulator/objects/kubevirt.ts';
import { isReady } from '../facts.ts';
import { operate } from '../play/operate.ts';
import { targetIn } from '../powers/story.ts';
import type { Write } from '../world/api-server.ts';
import type { Call } from '../world/model-client.ts';
import { NAMESPACE } from '../world/names.ts';
import { type World } from '../world/world.ts';
import { addNode, begun, play, statusOf } from './story.ts';

const EVICTED = ['web-1', 'web-2', 'web-3', 'web-4'];
const RESTARTED = ['web-5', 'web-6', 'web-7', 'web-8'];
const MAX_KILLS = 3;
const MINUTE = 60_000;
const TEN_MINUTES = 10 * MINUTE;
const lost = new KubeError(500, 'InternalError', 'the worker is gone');

/**
 * Kills the worker that makes such a call, before the call reaches the API server or once it has; three times at most.
 */
function killAt(world: World, when: 'before' | 'after', isMeant: (call: Call, write?: Write) => boolean): () => number {
  let kills = 0;
  const kill = (call: Call, write?: Write): boolean => {
    const worker = world.workers.find(({ process }) => process === call.process);
    if (worker?.process.state !== 'running' || kills >= MAX_KILLS || !isMeant(call, write)) return false;
    kills++;
    world.kill(worker);
    return true;
  };
  if (when === 'before') world.refuse = (call) => (kill(call) ? lost : null);
  else world.onlookers.push({ onWrite: (write, by) => void (by !== null && kill(by, write)) });
  return () => kills;
}

const onceEach = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 1]));

/** By `drover vm restart`, two at a time. */
const restart = (world: World, names: readonly string[]) =>
  operate(world, {
    action: 'Restart',
    chosen: { [NAMESPACE]: Object.fromEntries(names.map((name) => [name, world.vmi(name)!.metadata.uid])) },
    atOnce: 2,
    maxFailures: 2,
    deadlineMs: TEN_MINUTES,
    requestedBy: 'ann',
    reason: null,
  });

/** Counts what is made of a kind for each VM. */
function countOf(world: World, { plural }: Resource, nameOf: (made: Stored) => string) {
  const counts: Record<string, number> = {};
  world.onlookers.push({
    onWrite: ({ resource, before, after }) => {
      if (resource.plural !== plural || before !== undefined || after === undefined) return;
      const name = nameOf(after);
      counts[name] = (counts[name] ?? 0) + 1;
    },
  });
  return counts;
}

const claimsOf = (pool: Stored | undefined): number =>
  (pool?.['status'] as PoolStatus | undefined)?.disruptedVMs?.length ?? 0;

const CALLS = {
  'claims a place': ({ resource }: Call, write?: Write) =>
    resource?.plural === VirtualMachinePools.plural && claimsOf(write?.after) > claimsOf(write?.before),
  'notes on a VM what it begins': ({ resource, verb }: Call, write?: Write) =>
    resource?.plural === VirtualMachines.plural &&
    verb === 'patch' &&
    write?.after?.metadata.annotations?.[POWER_ANNOTATION] !== write?.before?.metadata.annotations?.[POWER_ANNOTATION],
  'creates a migration': ({ resource, verb }: Call) =>
    resource?.plural === VirtualMachineInstanceMigrations.plural && verb === 'create',
  'restarts a VM': ({ resource, verb }: Call) =>
    resource?.plural === VirtualMachineInstances.plural && verb === 'delete',
};

test.each<['before' | 'after', keyof typeof CALLS, DrainMethod]>([
  ['after', 'claims a place', 'MigrateOrRestart'],
  ['after', 'claims a place', 'Restart'],
  ['before', 'creates a migration', 'MigrateOrRestart'],
  ['after', 'creates a migration', 'MigrateOrRestart'],
  ['before', 'restarts a VM', 'Restart'],
  ['after', 'restarts a VM', 'Restart'],
])('each VM is moved once and within the budget, though workers are killed %s one %s, under %s', (when, what, method) =>
  play(
    async (world) => {
      await begun(world, { replicas: EVICTED.length + RESTARTED.length, maxUnavailable: 2, drain: { method } });
      addNode(world);
      const migrations = countOf(world, VirtualMachineInstanceMigrations, (made) => (made as Migration).spec.vmiName!);
      const vmis = countOf(world, VirtualMachineInstances, ({ metadata }) => metadata.name);
      const kills = killAt(world, when, CALLS[what]);
      for (const name of EVICTED) world.kubevirt.evict(name, false);
      restart(world, RESTARTED);
      const isDone = (): boolean =>
        [...EVICTED, ...RESTARTED].every((name) => name in migrations || name in vmis) &&
        statusOf(world)?.readyReplicas === EVICTED.length + RESTARTED.length &&
        statusOf(world)?.conditions?.some(({ type }) => type === 'Draining') === false;
      for (let added = 0; !isDone(); added++) {
        expect(await world.until(() => isDone() || kills() > added, TEN_MINUTES)).toBe(true);
        if (kills() > added) await world.addWorker();
      }
      expect(kills()).toBeGreaterThan(1);
      expect({ migrations, vmis }).toEqual(
        method === 'Restart'
          ? { migrations: {}, vmis: onceEach([...EVICTED, ...RESTARTED]) }
          : { migrations: onceEach(EVICTED), vmis: onceEach(RESTARTED) },
      );
    },
    { lag: 500 },
    4,
  ),
);

test.each<['before' | 'after', keyof typeof CALLS]>([
  ['after', 'notes on a VM what it begins'],
  ['before', 'creates a migration'],
  ['after', 'creates a migration'],
])('an operation migrates each VM once, of a pool or of none, though workers are killed %s one %s', (when, what) =>
  play(
    async (world) => {
      await begun(world, { replicas: 4, maxUnavailable: 2 });
      for (const name of ['lone-1', 'lone-2']) await world.people.createVm(name, {});
      expect(await world.until(() => world.vms.every((vm) => isReady(world.vmi(vm.metadata.name))), MINUTE)).toBe(true);
      const names = world.vms.map(({ metadata }) => metadata.name);
      const migrations = countOf(world, VirtualMachineInstanceMigrations, (made) => (made as Migration).spec.vmiName!);
      const kills = killAt(world, when, CALLS[what]);
      const chosen = Object.fromEntries(world.vms.map((vm) => [vm.metadata.name, targetIn(world, 'Migrate', vm)]));
      const id = operate(world, {
        action: 'Migrate',
        chosen: { [NAMESPACE]: chosen },
        atOnce: 2,
        maxFailures: 0,
        deadlineMs: TEN_MINUTES,
        requestedBy: 'ann',
        reason: null,
      });
      const isDone = (): boolean => !world.temporal.runs.get(id)!.isOpen;
      for (let added = 0; !isDone(); added++) {
        expect(await world.until(() => isDone() || kills() > added, TEN_MINUTES)).toBe(true);
        if (kills() > added) await world.addWorker();
      }
      expect(kills()).toBeGreaterThan(1);
      expect(await world.temporal.runs.get(id)!.result.promise).toMatchObject({ phase: 'Complete', failed: [] });
      expect(migrations).toEqual(onceEach(names));
    },
    { lag: 500 },
    4,
  ),
);
