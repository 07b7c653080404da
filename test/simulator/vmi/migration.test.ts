import { describe, expect, test } from 'vitest';
import type { Stored } from '../../../api/objects.ts';
import { MigrationSlots, mostAtOnce } from '../../../simulator/controllers/migration-slots.ts';
import { isToMigrate } from '../../../simulator/controllers/workload-updates.ts';
import type { Migration, MigrationPhase, VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { withHotplugConditions } from '../../../simulator/vm/hotplug.ts';
import { blockedByBackup } from '../../../simulator/vmi/backup.ts';
import { withEvacuation } from '../../../simulator/vmi/eviction.ts';
import { ended, handedOff, inPhase, isOver, migrationStep, started } from '../../../simulator/vmi/migration.ts';
import { condition, aVmi, aVm, NOW } from '../simulated.ts';

type Vmi = Stored<VirtualMachineInstance>;

const asked = (phase?: MigrationPhase, metadata = {}): Stored<Migration> => ({
  metadata: { ...aVm().metadata, name: 'm', uid: 'm-uid', ...metadata },
  spec: { vmiName: 'web-1' },
  ...(phase === undefined ? {} : { status: { phase } }),
});

const DELETED = { deletionTimestamp: '2026-05-04T10:00:00Z' };
const running = aVmi('Running', { nodeName: 'n1' });
const moving = started(handedOff(running, asked(), 'n2'), NOW);

/** Plays a migration to its end, with a place and a node at once. */
function played(vmi: Vmi): { phases: (string | undefined)[]; vmi: Vmi } {
  let migration = asked();
  for (let now = NOW; !isOver(migration); now += 1000) {
    const step = migrationStep(vmi, migration, now);
    if (step.do === 'setPhase') migration = inPhase(migration, step.phase, now, vmi);
    else if (step.do === 'takePlace') migration = inPhase(migration, 'Scheduling', now);
    else if (step.do === 'findNode') migration = inPhase(migration, 'Scheduled', now);
    else if (step.do === 'handOff') vmi = handedOff(vmi, migration, 'n2');
    else if (step.do === 'start') vmi = started(vmi, now);
    else if (step.do === 'end') vmi = ended(vmi, step.succeeded, now);
    else if (step.do !== 'wait') throw new Error(step.do);
  }
  const transitions = (migration.status?.phaseTransitionTimestamps ?? []) as { phase: string }[];
  return { phases: transitions.map(({ phase }) => phase), vmi };
}

describe('migrations', () => {
  const BEFORE = ['Pending', 'Scheduling', 'Scheduled', 'PreparingTarget', 'TargetReady', 'Running'];

  test("go through KubeVirt's phases, and end on the other node or where they began", () => {
    const well = played(running);
    expect(well.phases).toEqual([...BEFORE, 'Succeeded']);
    expect(well.vmi.status).toMatchObject({
      nodeName: 'n2',
      migrationState: { sourceNode: 'n1', completed: true },
    });
    const annotations = { 'sim.drover.dev/migration-fails': 'true' };
    const bad = played(aVmi('Running', { nodeName: 'n1' }, { annotations }));
    expect(bad.phases).toEqual([...BEFORE, 'Failed']);
    expect(bad.vmi.status).toMatchObject({ nodeName: 'n1', migrationState: { failed: true } });
  });

  test('take as long as the VMI says', () => {
    expect(migrationStep(moving, asked('Running'), NOW)).toEqual({ do: 'wait', until: NOW + 1000 });
  });

  test('wait for a VMI that is not up yet, fail with one that ends, and go with one that is gone', () => {
    expect(migrationStep(aVmi('Scheduled'), asked('Pending'), NOW)).toEqual({ do: 'nothing' });
    expect(migrationStep(aVmi('Failed'), asked('Pending'), NOW)).toEqual({ do: 'setPhase', phase: 'Failed' });
    const ending = { ...moving, metadata: { ...moving.metadata, ...DELETED } };
    expect(migrationStep(ending, asked('Running'), NOW)).toEqual({ do: 'end', succeeded: false });
    expect(migrationStep(undefined, asked('Running'), NOW)).toEqual({ do: 'delete' });
  });

  test('are aborted by their deletion, before the VMI is handed off to the nodes and after', () => {
    expect(migrationStep(running, asked('Scheduled', DELETED), NOW)).toEqual({ do: 'setPhase', phase: 'Failed' });
    expect(migrationStep(moving, asked('Running', DELETED), NOW)).toEqual({ do: 'end', succeeded: false });
  });

  test('say so while a backup of the VMI holds them', () => {
    const status = { ...running.status, changedBlockTracking: { backupStatus: { backupName: 'nightly' } } };
    const held = blockedByBackup(asked('Pending'), { ...running, status }, NOW);
    expect(held.status?.conditions).toMatchObject([
      { type: 'migrationBlockedByBackup', status: 'True', message: 'Waiting for backup nightly to complete' },
    ]);
    expect(blockedByBackup(held, running, NOW).status?.conditions).toEqual([]);
  });

  test("clear the descheduler's request once the VMI has moved", () => {
    const wished = withEvacuation(
      aVmi('Running', { nodeName: 'n1' }, { annotations: { 'sim.drover.dev/evicted-by': 'descheduler' } }),
    );
    expect(wished.status?.evacuationNodeName).toBe('n1');
    expect(wished.metadata.annotations).toHaveProperty(['kubevirt.io/eviction-source'], 'descheduler');
    const { vmi } = played(wished);
    expect(vmi.status?.evacuationNodeName).toBeUndefined();
    expect(vmi.metadata.annotations).not.toHaveProperty(['kubevirt.io/eviction-source']);
  });

  test('look for a node for five minutes', () => {
    const { creationTimestamp } = asked().metadata;
    const until = Date.parse(creationTimestamp) + 300_000;
    expect(migrationStep(running, asked('Scheduling'), NOW)).toEqual({ do: 'findNode', until });
  });

  test('bring sockets and memory that were plugged in', () => {
    const vmi = withHotplugConditions({
      ...moving,
      spec: {
        domain: { cpu: { sockets: 2, cores: 1, threads: 1, maxSockets: 4 }, memory: { guest: '4Gi', maxGuest: '8Gi' } },
      },
      status: {
        ...moving.status,
        currentCPUTopology: { sockets: 1, cores: 1, threads: 1 },
        memory: { guestAtBoot: '2Gi', guestCurrent: '2Gi', guestRequested: '2Gi' },
      },
    });
    expect(vmi.status?.conditions).toEqual(
      ['HotVCPUChange', 'HotMemoryChange'].map((type) => ({
        type,
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: null,
      })),
    );
    expect(withHotplugConditions(vmi)).toBe(vmi);
    expect(ended(vmi, false, NOW).status?.conditions).toHaveLength(2);
    expect(ended(vmi, true, NOW).status).toMatchObject({
      conditions: [],
      currentCPUTopology: { sockets: 2, cores: 1, threads: 1 },
      memory: { guestAtBoot: '2Gi', guestCurrent: '4Gi', guestRequested: '4Gi' },
    });
  });
});

test('five migrations run at once, and two from one node, unless KubeVirt is configured otherwise', () => {
  const places = new MigrationSlots();
  const take = (uid: string, node: string) => places.acquire(uid, node, undefined);
  expect([take('a', 'n1'), take('b', 'n1'), take('c', 'n1')]).toEqual([true, true, false]);
  expect([take('a', 'n1'), take('d', 'n2'), take('e', 'n2')]).toEqual([true, true, true]);
  expect([take('f', 'n3'), take('g', 'n4')]).toEqual([true, false]);
  expect([places.free('a'), places.free('a'), take('c', 'n1')]).toEqual([true, false, true]);
  const migrations = { parallelMigrationsPerCluster: 7, parallelOutboundMigrationsPerNode: 1 };
  const kubevirt = { metadata: { name: 'kubevirt' }, spec: { configuration: { migrations } } };
  expect([places.acquire('g', 'n4', kubevirt), places.acquire('h', 'n4', kubevirt)]).toEqual([true, false]);
  expect([mostAtOnce(kubevirt), mostAtOnce(undefined)]).toEqual([7, 5]);
});

test('a VMI is migrated for its plugged devices if it runs, can migrate, and does not already', () => {
  const waiting = aVmi('Running', {
    conditions: [condition('HotVCPUChange', 'True'), condition('LiveMigratable', 'True')],
  });
  expect(isToMigrate(waiting)).toBe(true);
  expect(
    isToMigrate({ ...waiting, status: { ...waiting.status, conditions: [condition('HotVCPUChange', 'True')] } }),
  ).toBe(false);
  expect(
    isToMigrate({ ...waiting, metadata: { ...waiting.metadata, deletionTimestamp: '2026-05-04T10:00:00Z' } }),
  ).toBe(false);
  expect(isToMigrate(started(handedOff(waiting, asked(), 'n2'), NOW))).toBe(false);
  expect(isToMigrate(aVmi('Running', { conditions: [condition('LiveMigratable', 'True')] }))).toBe(false);
});
