import '../../world/real-code.ts';
import { expect, test } from 'vitest';
import type { OutdatedPods } from '../../../../api/pool/pool.ts';
import { VirtualMachineInstanceMigrations, VirtualMachineInstances } from '../../../../api/resources.ts';
import { KubeError } from '../../../../kubernetes/errors.ts';
import type { Migration, VirtualMachineInstance } from '../../../../simulator/objects/kubevirt.ts';
import { aTemplate } from '../../pools.ts';
import type { Call } from '../../world/model-client.ts';
import { NAMESPACE } from '../../world/names.ts';
import { type World } from '../../world/world.ts';
import { begun, play, statusOf } from '../story.ts';

const TEN_MINUTES = 600_000;
const TIERED = { template: aTemplate({ tier: 'gold' }) };
const migrates = (outdatedPods: OutdatedPods) => ({ updateStrategy: { proactive: { outdatedPods } } });

const uidsOf = (world: World): Record<string, string> =>
  Object.fromEntries(world.server.all(VirtualMachineInstances).map(({ metadata }) => [metadata.name, metadata.uid]));
const nodesOf = (world: World): Record<string, string | undefined> =>
  Object.fromEntries(
    world.server
      .all<VirtualMachineInstance>(VirtualMachineInstances)
      .map(({ metadata, status }) => [metadata.name, status?.nodeName]),
  );
/** The reason of `Progressing`, for the spec that the pool has now. */
const said = (world: World): string | undefined =>
  statusOf(world)?.observedGeneration === world.pool('web')!.metadata.generation
    ? statusOf(world)?.conditions?.find(({ type }) => type === 'Progressing')?.reason
    : undefined;

/** How many migrations were made for each VM. */
function countOf(world: World): Record<string, number> {
  const counts: Record<string, number> = {};
  world.onlookers.push({
    onWrite: ({ resource, before, after }) => {
      if (resource.plural !== VirtualMachineInstanceMigrations.plural || before !== undefined) return;
      const { vmiName } = (after as Migration).spec;
      counts[vmiName!] = (counts[vmiName!] ?? 0) + 1;
    },
  });
  return counts;
}

function annotate(world: World, name: string, annotations: Record<string, string>): void {
  world.server.write(VirtualMachineInstances, { namespace: NAMESPACE, name }, (vmi) => ({
    ...vmi,
    metadata: { ...vmi.metadata, annotations: { ...vmi.metadata.annotations, ...annotations } },
  }));
}

test('each VM whose pod lacks a label migrates once, within the budget, and none restarts', () =>
  play(async (world) => {
    await begun(world, { replicas: 5, maxUnavailable: 2, ...migrates('Migrate') });
    const [before, places] = [uidsOf(world), nodesOf(world)];
    const counts = countOf(world);
    await world.people.changePool('web', TIERED);
    expect(await world.until(() => said(world) === 'Complete', TEN_MINUTES)).toBe(true);
    expect([uidsOf(world), counts]).toEqual([before, { 'web-1': 1, 'web-2': 1, 'web-3': 1, 'web-4': 1, 'web-5': 1 }]);
    for (const [name, node] of Object.entries(nodesOf(world))) expect([name, node]).not.toEqual([name, places[name]]);
    expect(statusOf(world)).toMatchObject({ updatedReplicas: 5 });
  }));

test.each(['before', 'after'] as const)('a worker that dies %s it creates a migration makes none twice', (when) =>
  play(
    async (world) => {
      await begun(world, { replicas: 4, maxUnavailable: 2, ...migrates('Migrate') });
      const before = uidsOf(world);
      const counts = countOf(world);
      let kills = 0;
      const killAt = (call: Call): boolean => {
        const worker = world.workers.find(({ process }) => process === call.process);
        const isMeant = call.resource?.plural === VirtualMachineInstanceMigrations.plural && call.verb === 'create';
        if (worker?.process.state !== 'running' || kills >= 3 || !isMeant) return false;
        kills++;
        world.kill(worker);
        return true;
      };
      if (when === 'before')
        world.refuse = (call) => (killAt(call) ? new KubeError(500, 'InternalError', 'the worker is gone') : null);
      else world.onlookers.push({ onWrite: (_write, by) => void (by !== null && killAt(by)) });
      await world.people.changePool('web', TIERED);
      const isDone = (): boolean => said(world) === 'Complete' && Object.keys(counts).length === 4;
      for (let added = 0; !isDone(); added++) {
        expect(await world.until(() => isDone() || kills > added, TEN_MINUTES)).toBe(true);
        if (kills > added) await world.addWorker();
      }
      expect(kills).toBeGreaterThan(1);
      expect([uidsOf(world), counts]).toEqual([before, { 'web-1': 1, 'web-2': 1, 'web-3': 1, 'web-4': 1 }]);
    },
    { lag: 500 },
    4,
  ),
);

test('a migration that fails halts the rollout, and a user who resumes it has it tried again', () =>
  play(async (world) => {
    await begun(world, { replicas: 3, maxUnavailable: 1, ...migrates('Migrate') });
    const before = uidsOf(world);
    for (const name of Object.keys(before)) annotate(world, name, { 'sim.drover.dev/migration-fails': 'true' });
    const counts = countOf(world);
    await world.people.changePool('web', TIERED);
    expect(await world.until(() => said(world) === 'Failed', TEN_MINUTES)).toBe(true);
    await world.wait(TEN_MINUTES);
    expect(Object.values(counts)).toEqual([1]);
    expect(statusOf(world)!.rollout!.failures[0]!.message).toBe('its migration has failed: the migration was ended');
    for (const name of Object.keys(before)) annotate(world, name, { 'sim.drover.dev/migration-fails': 'false' });
    await world.people.rollout('web', 'resume');
    expect(await world.until(() => said(world) === 'Complete', TEN_MINUTES)).toBe(true);
    expect(uidsOf(world)).toEqual(before);
    expect(Object.values(counts).sort((a, b) => a - b)).toEqual([1, 1, 2]);
  }));

test('VMs that KubeVirt cannot migrate are reported, or restart if the pool allows that', () =>
  play(async (world) => {
    await begun(world, { replicas: 2, maxUnavailable: 1, ...migrates('Migrate') });
    const before = uidsOf(world);
    annotate(world, 'web-1', { 'sim.drover.dev/not-migratable': 'true' });
    await world.wait(5_000);
    await world.people.changePool('web', TIERED);
    expect(await world.until(() => said(world) === 'OutdatedPods', TEN_MINUTES)).toBe(true);
    const { message } = statusOf(world)!.conditions!.find(({ type }) => type === 'Progressing')!;
    expect(message).toContain('web-1: the pod lacks');
    expect(message).toContain('KubeVirt cannot migrate it');
    expect([uidsOf(world), statusOf(world)!.outdatedPodReplicas]).toEqual([before, 1]);
    await world.people.changePool('web', migrates('MigrateOrRestart'));
    expect(await world.until(() => said(world) === 'Complete', TEN_MINUTES)).toBe(true);
    expect(uidsOf(world)['web-1']).not.toBe(before['web-1']);
    expect(uidsOf(world)['web-2']).toBe(before['web-2']);
  }));
