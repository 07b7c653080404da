import '../world/real-code.ts';
import { expect, test } from 'vitest';
import { DisruptionClaims } from '../../../activities/disruption-budget/disruption-claims.ts';
import { VirtualMachineInstances } from '../../../api/resources.ts';
import { play as playWith } from '../stories/story.ts';
import { NAMESPACE } from '../world/names.ts';
import { runAs } from '../world/virtual-time.ts';
import type { World } from '../world/world.ts';
import { budgetOf, claimsOf, createBudget, createVms, labelVm } from './budgets.ts';

const play = (live: (world: World) => Promise<void>): Promise<void> => playWith(live, { budgets: true }, 2);

const conditionsOf = (world: World, name: string): Record<string, string> =>
  Object.fromEntries(
    (budgetOf(world, name)?.status?.conditions ?? []).map(({ type, status, reason }) => [type, `${status}/${reason}`]),
  );

test('the status of a budget follows its VMs within three seconds, and is not written otherwise', () =>
  play(async (world) => {
    await createVms(world, ['db-1', 'db-2', 'db-3'], { bootMs: 20_000 });
    createBudget(world, 'a', { maxUnavailable: 1 });
    await world.wait(3_000);
    expect(budgetOf(world, 'a')?.status).toMatchObject({
      observedGeneration: 1,
      matched: 3,
      expected: 3,
      available: 3,
      disruptionsAllowed: 1,
    });
    expect(conditionsOf(world, 'a')).toEqual({ Ready: 'True/Held', Full: 'False/NotFull', Closed: 'False/InWindow' });
    const { resourceVersion } = budgetOf(world, 'a')!.metadata;
    await world.wait(600_000);
    expect(budgetOf(world, 'a')!.metadata.resourceVersion).toBe(resourceVersion);
    world.server.delete(VirtualMachineInstances, { namespace: NAMESPACE, name: 'db-1' });
    await world.wait(3_000);
    expect(budgetOf(world, 'a')?.status).toMatchObject({ expected: 3, available: 2, disruptionsAllowed: 0 });
    expect(conditionsOf(world, 'a')['Full']).toBe('True/DownByThemselves');
    expect(budgetOf(world, 'a')?.status?.fullSince).toBeDefined();
    labelVm(world, 'db-1', {});
    await world.wait(3_000);
    expect(budgetOf(world, 'a')?.status).toMatchObject({ matched: 2, expected: 2, disruptionsAllowed: 1 });
    expect(budgetOf(world, 'a')?.status?.fullSince).toBeUndefined();
  }));

test('a claim that was never used is taken off the status a minute later, though nobody claims', () =>
  play(async (world) => {
    await createVms(world, ['db-1']);
    createBudget(world, 'a');
    await world.wait(3_000);
    const worker = world.workers[0]!;
    const claims = runAs(
      worker.process,
      () => new DisruptionClaims(world.clientOf(worker.process).asClient, worker.cache),
    );
    const vm = worker.cache.vms.get(`${NAMESPACE}/db-1`)!;
    const asked = { vm, vmi: worker.cache.vmiOf(vm), by: 'nobody', reason: 'Restart', pool: null } as const;
    await runAs(worker.process, () => claims.claim(asked));
    expect(claimsOf(world, 'a')).toEqual(['db-1']);
    await world.wait(3_000);
    expect(conditionsOf(world, 'a')['Full']).toBe('True/Claims');
    await world.wait(75_000);
    expect(claimsOf(world, 'a')).toEqual([]);
    expect(conditionsOf(world, 'a')['Full']).toBe('False/NotFull');
  }));

test('a budget says what only a user can mend, and when it opens', () =>
  play(async (world) => {
    await createVms(world, ['db-1', 'db-2']);
    createBudget(world, 'never', { minAvailable: 2 });
    createBudget(world, 'nothing', { selector: { matchLabels: { app: 'none' } }, maxUnavailable: 1 });
    const windows = [{ cron: '0 3 * * *', duration: '1h' }];
    createBudget(world, 'all', { windows, outside: 'Deny' });
    await world.wait(60_000);
    expect(conditionsOf(world, 'nothing')['Stalled']).toBeUndefined();
    await world.wait(63_000);
    expect(conditionsOf(world, 'never')['Stalled']).toBe('True/NeverRoom');
    expect(conditionsOf(world, 'nothing')['Stalled']).toBe('True/NothingMatches');
    expect(conditionsOf(world, 'all')).toMatchObject({ Ready: 'True/Held', Closed: 'True/OutsideWindows' });
  }));
