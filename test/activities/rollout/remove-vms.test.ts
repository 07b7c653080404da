import { afterEach, describe, expect, test, vi } from 'vitest';
import { PROTECT_ANNOTATION, REMOVING_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import type { UpdateOutcome } from '../../../decisions/owners/batch.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { keyOf, targetOf, World } from '../forged/world.ts';

type Outdated = ReturnType<World['outdated']>;

interface Removed {
  world: World;
  outcomes: UpdateOutcome[];
  /** Names of the VMs that were deleted. */
  deleted: string[];
  /** VMs that have places in the budget afterwards. */
  claimed: string[];
}

/** Has a worker replace the VMs of a pool whose disks are outdated. `change`: what has happened since the plan. */
async function removed(
  spec: Parameters<World['outdated']>[0],
  change: (world: World, given: Outdated) => void = () => {},
  { revision, count = 1 }: { revision?: 'current'; count?: number } = {},
): Promise<Removed> {
  const world = new World();
  const given = world.outdated(spec, count);
  const { pool, vms, to, from } = given;
  change(world, given);
  await world.start();
  const held = vms.map((vm) => ({ ...targetOf(vm), act: 'replace', from, wasDown: false }));
  const of = revision === 'current' ? from : to;
  const request = { key: keyOf(pool), revision: of, n: 1, rollout: to, vms: held, startedAt: 0, minVersions: {} };
  const writes = await world.written('removeVms', [request]);
  const now = world.server.get(VirtualMachinePools, pool.metadata) as Stored & StoredPool;
  return {
    world,
    outcomes: (world.answer as { outcomes: UpdateOutcome[] }).outcomes,
    deleted: writes.filter((write) => write.startsWith('delete')).map((write) => write.split('/')[1]!),
    claimed: (now.status?.disruptedVMs ?? []).map(({ vm }) => vm),
  };
}

const write =
  (change: object) =>
  (world: World, { vms }: Outdated): void =>
    void world.server.write(VirtualMachines, vms[0]!.metadata, (before) => ({
      ...before,
      metadata: { ...before.metadata, ...change },
    }));

/** Has a worker take a VM of the newest revision back to the former one, by replacing it. */
async function takenBack(halted: object): Promise<{ outcomes: UpdateOutcome[]; deleted: number }> {
  const world = new World();
  const { pool, to, from } = world.outdated({}, 0);
  const vm = world.vm(pool, 1);
  world.server.write(
    VirtualMachinePools,
    pool.metadata,
    (before) => ({
      ...before,
      status: { replicas: 1, currentRevision: from, rollout: { revision: to, inFlight: [1], ...halted } },
    }),
    'status',
  );
  await world.start();
  const vms = [{ ...targetOf(vm), act: 'replace', from: to, wasDown: false }];
  const request = { key: keyOf(pool), revision: from, n: 1, rollout: to, vms, startedAt: Date.now(), minVersions: {} };
  const writes = await world.written('removeVms', [request]);
  const { outcomes } = world.answer as { outcomes: UpdateOutcome[] };
  return { outcomes, deleted: writes.filter((write) => write.startsWith('delete')).length };
}

/** The third VM is down. */
const down = (world: World, { vms }: Outdated): void => {
  world.server.delete(VirtualMachineInstances, vms[2]!.metadata);
  const status = { created: false, ready: false, printableStatus: 'Starting' };
  world.server.write(VirtualMachines, vms[2]!.metadata, (before) => ({ ...before, status }), 'status');
};

const refuse = (world: World): void => {
  world.client.onWrite = (verb, { plural }) => {
    if (verb === 'delete' && plural === 'virtualmachines') throw new KubeError(403, 'Forbidden', 'no! '.repeat(9_999));
  };
};

/** Has the worker stand still for a minute before its first so many deletions are sent. */
const freezing =
  (times: number) =>
  (world: World): void => {
    let late = 0;
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + late);
    world.client.onWrite = (verb, { plural }) => {
      if (verb === 'delete' && plural === 'virtualmachines' && times-- > 0) late += 61_000;
    };
  };

describe('a VM that is to be replaced', () => {
  test('is deleted, and keeps its place until another is there', async () => {
    expect(await removed({})).toMatchObject({ outcomes: [], deleted: ['web-1'], claimed: ['web-1'] });
  });

  test('is deleted though a user has changed or protected it since', async () => {
    const change = { annotations: { [PROTECT_ANNOTATION]: 'yes, please' } };
    expect(await removed({}, write(change))).toMatchObject({ outcomes: [], deleted: ['web-1'] });
  });

  test('stays if its pool has released it since', async () => {
    const outcome = await removed({}, write({ ownerReferences: [] }));
    expect(outcome).toMatchObject({ outcomes: [{ end: 'Gone' }], deleted: [], claimed: [] });
  });

  test('stays if it is now leaving with its disks kept', async () => {
    const outcome = await removed({}, write({ annotations: { [REMOVING_ANNOTATION]: 'true' } }));
    expect(outcome).toMatchObject({ outcomes: [{ end: 'Gone' }], deleted: [] });
  });

  test('stays in a pool that replaces none, whatever its batch says', async () => {
    const outcome = await removed({ updateStrategy: { proactive: { disruption: 'Restart' } } });
    expect(outcome).toMatchObject({ outcomes: [{ end: 'Deferred' }], deleted: [], claimed: [] });
  });

  test('stays if it has the revision already', async () => {
    const { outcomes, deleted } = await removed({}, write({}), { revision: 'current' });
    expect({ outcomes, deleted }).toMatchObject({ outcomes: [{ end: 'Updated' }], deleted: [] });
  });

  test('goes back to a former revision only if the status of its pool says so', async () => {
    expect(await takenBack({})).toMatchObject({ outcomes: [{ end: 'Deferred' }], deleted: 0 });
    const halted = { kind: 'Undoing', by: 'drover', at: new Date(0).toISOString() };
    expect(await takenBack({ halted })).toEqual({ outcomes: [], deleted: 1 });
  });

  test('waits if the budget has no room, and the others of its batch do not wait for it', async () => {
    const outcome = await removed({ maxUnavailable: 1 }, down, { count: 3 });
    expect(outcome.deleted).toEqual(['web-3']);
    expect(outcome.outcomes.map(({ vm, end }) => `${vm} ${end}`).sort()).toEqual(['web-1 Deferred', 'web-2 Deferred']);
    expect(outcome.claimed).toEqual(['web-3']);
  });

  test('gives its claim back if its deletion is refused, with a message that is not too long', async () => {
    const { outcomes, claimed } = await removed({}, refuse);
    expect(outcomes).toMatchObject([{ vm: 'web-1', end: 'Failed' }]);
    expect(outcomes[0]!.message!.length).toBeLessThan(2_000);
    expect(claimed).toEqual([]);
    const many = await removed({ maxUnavailable: '100%' }, refuse, { count: 101 });
    expect(many.outcomes.map(({ message }) => message!.length)).toEqual(Array.from({ length: 101 }, () => 256));
  });
});

describe('a worker that freezes between a claim and its act', () => {
  afterEach(() => void vi.restoreAllMocks());

  test('claims again before it acts', async () => {
    expect(await removed({}, freezing(1))).toMatchObject({ outcomes: [], deleted: ['web-1'], claimed: ['web-1'] });
  });

  test('does not act if it never has a fresh claim, and gives the claim back', async () => {
    const { outcomes, deleted, claimed } = await removed({}, freezing(99));
    expect({ outcomes, deleted, claimed }).toMatchObject({ outcomes: [{ end: 'Deferred' }], deleted: [], claimed: [] });
  });
});
