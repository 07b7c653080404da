import { expect, test, vi } from 'vitest';
import { MEMBERSHIP_CHANGE_ANNOTATION } from '../../../api/names.ts';
import type { Stored } from '../../../api/objects.ts';
import { VirtualMachinePools } from '../../../api/resources.ts';
import type { ListedChange } from '../../../decisions/membership/change.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { keyOf, World } from '../forged/world.ts';

const HOUR_MS = 3_600_000;

/** A pool that wants three VMs and has two, whose command has said nothing for an hour. */
async function ended(kind: ListedChange['kind'], createdAgoMs: number): Promise<number> {
  const world = new World();
  const change = {
    kind,
    vms: [{ name: 'web-3', uid: 'uid-before-the-backup' }],
    replicas: kind === 'adopt' ? 1 : -1,
    by: 'ada',
    at: new Date(Date.now() - HOUR_MS).toISOString(),
  };
  const mark = JSON.stringify(change);
  const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - createdAgoMs);
  const pool = world.pool('web', { replicas: 3 }, { annotations: { [MEMBERSHIP_CHANGE_ANNOTATION]: mark } });
  clock.mockRestore();
  world.vm(pool, 1);
  world.vm(pool, 2);
  const status = { replicas: 2, observedGeneration: 1 };
  world.server.write(VirtualMachinePools, pool.metadata, (before) => ({ ...before, status }), 'status');
  await world.start();
  await world.written('endMembershipChange', [keyOf(pool), mark]);
  const now = world.server.get(VirtualMachinePools, pool.metadata) as Stored & StoredPool;
  expect(now.metadata.annotations).not.toHaveProperty([MEMBERSHIP_CHANGE_ANNOTATION]);
  return now.spec.replicas;
}

test.each(['adopt', 'detach'] as const)(
  'a pool that was put back from a backup in the middle of %s goes on wanting as many VMs as it had wanted',
  async (kind) => expect(await ended(kind, HOUR_MS / 2)).toBe(3),
);

test('a pool whose command was killed before it had adopted a VM wants one less again', async () =>
  expect(await ended('adopt', 2 * HOUR_MS)).toBe(2));
