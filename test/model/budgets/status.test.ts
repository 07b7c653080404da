import '../world/real-code.ts';
import { expect, test } from 'vitest';
import { DisruptionClaims } from '../../../activities/disruption-budget/disruption-claims.ts';
import { claimOf } from '../../../api/claims/claim.ts';
import { Leases, Namespaces, Nodes, VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { isReady } from '../facts.ts';
import { aSpec, aTemplate } from '../pools.ts';
import { APP } from '../random/budgets.ts';
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
    expect(conditionsOf(world, 'a')).toEqual({ Ready: 'True/Held', Full: 'False/NotFull', Closed: 'False/NotClosed' });
    const { resourceVersion } = budgetOf(world, 'a')!.metadata;
    await world.wait(600_000);
    expect(budgetOf(world, 'a')!.metadata.resourceVersion).toBe(resourceVersion);
    world.server.delete(VirtualMachineInstances, { namespace: NAMESPACE, name: 'db-1' });
    await world.wait(3_000);
    expect(budgetOf(world, 'a')?.status).toMatchObject({ expected: 3, available: 2, disruptionsAllowed: 0 });
    expect(conditionsOf(world, 'a')['Full']).toBe('True/VmsUnavailable');
    expect(budgetOf(world, 'a')?.status?.fullSince).toBeDefined();
    labelVm(world, 'db-1', {});
    await world.wait(3_000);
    expect(budgetOf(world, 'a')?.status).toMatchObject({ matched: 2, expected: 2, disruptionsAllowed: 1 });
    expect(budgetOf(world, 'a')?.status?.fullSince).toBeUndefined();
  }));

/** Claims the VM for nobody. */
async function claimFor(world: World, name: string): Promise<void> {
  const worker = world.workers[0]!;
  const claims = runAs(
    worker.process,
    () => new DisruptionClaims(world.clientOf(worker.process).asClient, worker.cache),
  );
  const vm = worker.cache.vms.get(`${NAMESPACE}/${name}`)!;
  const asked = { vm, vmi: worker.cache.vmiOf(vm), by: 'nobody', reason: 'Restart', pool: null } as const;
  await runAs(worker.process, () => claims.claim(asked));
}

test('budgets whose status the API server refuses hold up no other', () =>
  play(async (world) => {
    await createVms(world, ['db-1']);
    world.refuse = ({ verb, key }) =>
      verb === 'patch' && key.name?.startsWith('refused') === true ? new KubeError(403, 'Forbidden', 'a policy') : null;
    for (let n = 0; n < 10; n++) createBudget(world, `refused-${n}`);
    createBudget(world, 'a');
    await world.wait(4_000);
    expect(budgetOf(world, 'a')?.status?.matched).toBe(1);
  }));

test('a claim that is over is taken off the status, though it makes no more room', () =>
  play(async (world) => {
    await createVms(world, ['db-1', 'db-2'], { bootMs: 60_000 });
    createBudget(world, 'a', { maxUnavailable: 2 });
    await world.wait(3_000);
    await claimFor(world, 'db-1');
    expect(claimsOf(world, 'a')).toEqual(['db-1']);
    world.server.delete(VirtualMachineInstances, { namespace: NAMESPACE, name: 'db-1' });
    await world.wait(5_000);
    expect([claimsOf(world, 'a'), isReady(world.vmi('db-1'))]).toEqual([[], false]);
  }));

test('a claim that was never used is taken off the status a minute later, though nobody claims', () =>
  play(async (world) => {
    await createVms(world, ['db-1']);
    createBudget(world, 'a');
    await world.wait(3_000);
    await claimFor(world, 'db-1');
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

const opening = (cron: string) => ({ windows: [{ cron, duration: '1h' }], outside: 'Deny' as const });

test('budgets that are never open at the same time say so, if they have VMs in common', () =>
  play(async (world) => {
    await createVms(world, ['db-1', 'web-1']);
    labelVm(world, 'web-1', { app: 'web' });
    createBudget(world, 'night', opening('0 3 * * *'));
    createBudget(world, 'day', { ...opening('0 15 * * *'), selector: { matchLabels: { app: 'web' } } });
    await world.wait(3_000);
    expect(conditionsOf(world, 'night')['Stalled']).toBeUndefined();
    createBudget(world, 'all', opening('0 4 * * *'));
    createBudget(world, 'rest', { maxUnavailable: 1, windows: opening('0 5 * * *').windows, outside: 'Allow' });
    await world.wait(3_000);
    expect(['night', 'all', 'day', 'rest'].map((name) => conditionsOf(world, name)['Stalled'])).toEqual([
      'True/WindowsNeverMeet',
      'True/WindowsNeverMeet',
      undefined,
      undefined,
    ]);
  }));

test('a cluster-wide budget says in which namespaces it is not held, if it is about their VMs', () =>
  playWith(
    async (world) => {
      await createVms(world, ['db-1']);
      world.server.create(Namespaces, { metadata: { name: 'bank', labels: { tier: 'gold' } } });
      createBudget(world, 'all');
      createBudget(world, 'all-lead', { maxUnavailable: 1, namespaceSelector: { matchLabels: { tier: 'lead' } } });
      await world.wait(3_000);
      expect(conditionsOf(world, 'all')['Ready']).toBe('True/Held');
      const lease = claimOf('bank', 'others');
      world.server.create(Leases, lease);
      await world.wait(3_000);
      expect(conditionsOf(world, 'all')['Ready']).toBe('False/NotHeldIn');
      expect(conditionsOf(world, 'all-lead')['Ready']).toBe('True/Held');
      createBudget(world, 'bank-own');
      await world.wait(5_000);
      expect(budgetOf(world, 'bank-own')?.status?.observedGeneration).toBeUndefined();
      world.server.delete(Leases, { namespace: 'bank', name: lease.metadata.name }, {});
      await world.wait(3_000);
      expect(conditionsOf(world, 'all')['Ready']).toBe('True/Held');
      expect(budgetOf(world, 'bank-own')?.status?.observedGeneration).toBe(1);
    },
    { budgets: true, operations: true },
    2,
  ));

test('VMs that a pool is missing are expected, whether it was scaled or has lost them', () =>
  play(async (world) => {
    const template = { metadata: { labels: APP }, ...aTemplate() };
    await world.people.createPool('web', aSpec({ replicas: 2, template }));
    createBudget(world, 'a', { maxUnavailable: 1 });
    await world.wait(30_000);
    expect(budgetOf(world, 'a')?.status).toMatchObject({ expected: 2, available: 2 });
    world.refuse = ({ verb, resource }) =>
      verb === 'create' && resource === VirtualMachines ? new KubeError(403, 'Forbidden', 'quota') : null;
    await world.people.changePool('web', { replicas: 3 });
    await world.wait(5_000);
    expect(budgetOf(world, 'a')?.status).toMatchObject({ expected: 3, available: 2 });
    await world.people.deleteVm('web-1');
    await world.wait(10_000);
    expect(budgetOf(world, 'a')?.status).toMatchObject({ matched: 1, expected: 3, available: 1 });
  }));

test('a cluster-wide budget counts the VMs of namespaces with its labels, as these change', () =>
  playWith(
    async (world) => {
      await createVms(world, ['db-1', 'db-2']);
      const label = (tier: string): void => {
        world.server.write(Namespaces, { name: NAMESPACE }, (one) => ({
          ...one,
          metadata: { ...one.metadata, labels: { tier } },
        }));
      };
      if (world.server.find(Namespaces, { name: NAMESPACE }) === undefined)
        world.server.create(Namespaces, { metadata: { name: NAMESPACE } });
      label('gold');
      createBudget(world, 'all', { maxUnavailable: 1, namespaceSelector: { matchLabels: { tier: 'gold' } } });
      for (const [tier, matched] of [
        ['gold', 2],
        ['lead', 0],
        ['gold', 2],
      ] as const) {
        label(tier);
        await world.wait(4_000);
        expect([tier, budgetOf(world, 'all')?.status?.matched]).toEqual([tier, matched]);
      }
    },
    { budgets: true, operations: true },
    2,
  ));

test('a VM is in the domain that the label of its node says last before it goes down', () =>
  play(async (world) => {
    await createVms(world, ['db-1'], { bootMs: 20_000 });
    createBudget(world, 'zones', { topology: { key: 'zone', maxDomains: 1 } });
    await world.wait(3_000);
    world.server.write(Nodes, { name: world.vmi('db-1')!.status!.nodeName! }, (node) => ({
      ...node,
      metadata: { ...node.metadata, labels: { ...node.metadata.labels, zone: 'a' } },
    }));
    await world.wait(3_000);
    world.server.delete(VirtualMachineInstances, { namespace: NAMESPACE, name: 'db-1' });
    await world.wait(3_000);
    expect(budgetOf(world, 'zones')?.status?.claims).toMatchObject([{ vm: 'db-1', reason: 'Failed', domain: 'a' }]);
    expect(conditionsOf(world, 'zones')['Full']).toBe('True/Domains');
  }));
