import '../world/real-code.ts';
import { expect, test } from 'vitest';
import { DO_NOT_DISRUPT_ANNOTATION, DRAIN_LABEL } from '../../../api/labels-and-annotations.ts';
import type { VmTemplate } from '../../../api/pool/pool.ts';
import {
  Nodes,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstances,
  VirtualMachines,
} from '../../../api/resources.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import type { Migration } from '../../../simulator/objects/kubevirt.ts';
import { isOver } from '../../../simulator/vmi/migration.ts';
import { isByWorker, isReady } from '../facts.ts';
import { operate, steer } from '../play/operate.ts';
import { aSpec, aTemplate, fromAnotherSource } from '../pools.ts';
import { targetIn } from '../powers/story.ts';
import { APP, ZONE } from '../random/budgets.ts';
import { addNode, play as playWith } from '../stories/story.ts';
import { Journal } from '../world/journal.ts';
import { NAMESPACE } from '../world/names.ts';
import type { World } from '../world/world.ts';
import { budgetOf, claimsOf, createBudget, createVms, labelVm, placeOf, zoneNodes } from './budgets.ts';
import { watchBudgets, type AnyVmGuarantees } from './guarantee.ts';

const MINUTE = 60_000;
const PETS = ['pet-1', 'pet-2', 'pet-3'];

const withDisk = (version: number) => ({
  metadata: { labels: APP },
  ...(version === 1 ? aTemplate({ disk: 'root' }) : fromAnotherSource({ disk: 'root' })),
});
const template = (version: number) => ({ metadata: { labels: APP }, ...aTemplate({ version, bootMs: 3_000 }) });

/** Two pools and three VMs in no pool, all of one application. */
async function application(world: World): Promise<AnyVmGuarantees> {
  const guarantees = watchBudgets(world);
  const rollout = { progressDeadlineSeconds: 600 };
  await world.people.createPool('web', aSpec({ replicas: 4, maxUnavailable: 2, rollout, template: template(1) }));
  await world.people.createPool('api', aSpec({ replicas: 3, maxUnavailable: 2, rollout, template: template(1) }));
  await createVms(world, PETS, { bootMs: 3_000 });
  const areReady = (): boolean =>
    ['web', 'api'].every((name) => world.pool(name)?.status?.readyReplicas === world.pool(name)?.spec.replicas);
  if (!(await world.until(areReady, 2 * MINUTE))) world.break('the pools do not come up');
  return guarantees;
}

const chosenOf = (
  world: World,
  action: 'Restart' | 'Stop' | 'Migrate',
  names: readonly string[],
): Record<string, string> => Object.fromEntries(names.map((name) => [name, targetIn(world, action, world.vm(name)!)]));

const act = (
  world: World,
  action: 'Restart' | 'Stop' | 'Migrate',
  names: readonly string[],
  deadlineMs = 20 * MINUTE,
  { labels = {}, ...spec }: { labels?: Record<string, string>; pastBudgets?: true } = {},
): string =>
  operate(
    world,
    {
      action,
      chosen: { [NAMESPACE]: chosenOf(world, action, names) },
      atOnce: 3,
      maxFailures: 3,
      deadlineMs,
      requestedBy: 'ann',
      reason: null,
    },
    spec,
    labels,
  );

/** Has the VMs that are in no pool be changed by this merge patch. */
const patchPets = (world: World, patch: object): string =>
  operate(
    world,
    {
      action: 'Patch',
      chosen: { [NAMESPACE]: Object.fromEntries(PETS.map((name) => [name, world.vm(name)!.metadata.uid])) },
      atOnce: 3,
      maxFailures: 3,
      deadlineMs: 10 * MINUTE,
      requestedBy: 'ann',
      reason: null,
    },
    { patch: { merge: JSON.stringify(patch) } },
  );
const withSockets = (sockets: number) => ({ spec: { template: { spec: { domain: { cpu: { sockets } } } } } });

const isUpdated = (world: World, name: string): boolean => {
  const { status, spec } = world.pool(name)!;
  return status?.updatedReplicas === spec.replicas && status?.readyReplicas === spec.replicas;
};

/** Has everything happen at once: two rollouts and a restart of VMs in no pool. */
async function disruptAll(world: World): Promise<() => boolean> {
  await world.people.changePool('web', { template: template(2) });
  await world.people.changePool('api', { template: template(2) });
  const restart = act(world, 'Restart', PETS);
  return () => isUpdated(world, 'web') && isUpdated(world, 'api') && !world.temporal.runs.get(restart)!.isOpen;
}

const play = (...[live, options, seeds]: Parameters<typeof playWith>): Promise<void> =>
  playWith(live, { budgets: true, ...options }, seeds);

/** Plays that all is disrupted under these budgets, and that it all comes to its end. */
async function disrupted(world: World, guarantees: AnyVmGuarantees | null): Promise<void> {
  await world.wait(30_000);
  const isDone = await disruptAll(world);
  if (!(await world.until(isDone, 40 * MINUTE))) world.break('the disruptions do not come to their end');
  if (guarantees !== null) expect(guarantees.checked).toBeGreaterThanOrEqual(10);
}

test('rollouts of two pools and a restart of other VMs together keep to one budget', () =>
  play(
    async (world) => {
      const guarantees = await application(world);
      createBudget(world, 'one', { maxUnavailable: 1 });
      await disrupted(world, guarantees);
    },
    { lag: 500 },
    4,
  ));

test('they keep to each of three budgets, of which one is cluster-wide', () =>
  play(
    async (world) => {
      const guarantees = await application(world);
      createBudget(world, 'half', { minAvailable: '80%' });
      createBudget(world, 'some', { maxUnavailable: 2 });
      createBudget(world, 'all', { selector: {}, maxUnavailable: '30%' });
      await disrupted(world, guarantees);
    },
    { lag: 500, workers: 3 },
    4,
  ));

test.each([
  ['killed', 0],
  ['frozen for 11 s', 11_000],
  ['frozen for 45 s', 45_000],
  ['frozen for 70 s', 70_000],
])('they keep to two budgets though workers are %s between the first claim and the next', (_, ms) =>
  play(
    async (world) => {
      const guarantees = await application(world);
      createBudget(world, 'a', { maxUnavailable: 2 });
      createBudget(world, 'b', { minAvailable: 8 });
      let left = 3;
      world.onlookers.push({
        onWrite: ({ before, after }, call) => {
          const worker = world.workers.find(({ process }) => process === call?.process);
          const claims = [before, after].map(
            (one) => ((one?.['status'] as { claims?: unknown[] } | undefined)?.claims ?? []).length,
          );
          const isClaim = after?.metadata.name === 'a' && claims[1]! > claims[0]!;
          if (!isClaim || left === 0 || worker?.process.state !== 'running') return;
          left--;
          if (ms === 0) {
            world.kill(worker);
            void world.wait(15_000).then(() => world.addWorker());
          } else {
            world.freeze(worker);
            void world.wait(ms).then(() => world.thaw(worker));
          }
        },
      });
      await disrupted(world, guarantees);
      expect(left).toBeLessThan(3);
    },
    { workers: 3 },
    3,
  ),
);

test('a budget that is deleted, made again and narrowed holds as it is at each time', () =>
  play(
    async (world) => {
      const guarantees = await application(world);
      createBudget(world, 'a', { maxUnavailable: 2 });
      await world.wait(30_000);
      const isDone = await disruptAll(world);
      const { resource, key } = placeOf('a');
      for (const maxUnavailable of [1, 3, 1]) {
        await world.wait(world.time.between(5_000, 20_000));
        world.server.delete(resource, key);
        createBudget(world, 'a', { maxUnavailable });
      }
      if (!(await world.until(isDone, 40 * MINUTE))) world.break('the disruptions do not come to their end');
      expect(guarantees.checked).toBeGreaterThan(0);
    },
    { lag: 500 },
    4,
  ));

test('nothing begins outside of the windows of a budget, and all that waits begins once they open', () =>
  play(async (world) => {
    const guarantees = await application(world);
    // The world begins at midnight.
    createBudget(world, 'hours', {
      windows: [{ cron: '0 1 * * *', duration: '1h' }],
      outside: 'Deny',
      maxUnavailable: 1,
    });
    await world.wait(30_000);
    const isDone = await disruptAll(world);
    await world.wait(30 * MINUTE);
    expect(isUpdated(world, 'web') || isUpdated(world, 'api')).toBe(false);
    expect(world.pool('web')?.status?.updatedReplicas ?? 0).toBe(0);
    const batches = [...world.temporal.runs.values()].filter(({ type }) => type === 'updateBatch');
    expect(batches.length).toBeLessThanOrEqual(2);
    if (!(await world.until(isDone, 60 * MINUTE))) world.break('what waits does not begin');
    expect(guarantees.checked).toBeGreaterThanOrEqual(10);
  }));

test('a stop waits for minAvailable, and one VM after the other empties maxUnavailable', () =>
  play(async (world) => {
    const guarantees = watchBudgets(world);
    await createVms(world, PETS);
    createBudget(world, 'quorum', { minAvailable: 2 });
    await world.wait(30_000);
    act(world, 'Stop', PETS, 5 * MINUTE);
    await world.wait(10 * MINUTE);
    expect(PETS.filter((name) => isReady(world.vmi(name))).length).toBe(2);
    const { resource, key } = placeOf('quorum');
    world.server.delete(resource, key);
    createBudget(world, 'most', { maxUnavailable: 1 });
    await world.wait(30_000);
    act(
      world,
      'Stop',
      PETS.filter((name) => isReady(world.vmi(name))),
      5 * MINUTE,
    );
    await world.wait(10 * MINUTE);
    expect(PETS.filter((name) => isReady(world.vmi(name)))).toEqual([]);
    expect(guarantees.checked).toBeGreaterThan(0);
  }));

test('what waits for a full budget writes no VM', () =>
  play(async (world) => {
    await application(world);
    addNode(world);
    createBudget(world, 'none', { maxUnavailable: 0 });
    await world.wait(30_000);
    const written: string[] = [];
    world.onlookers.push({
      onCall: (call) => {
        const { verb, resource, subresource, key } = call;
        const isRead = ['get', 'list'].includes(verb) || (verb === 'request' && !key.name?.includes('/subresources'));
        const isOfVm = resource === null || /^VirtualMachine(Instance|InstanceMigration)?$/.test(resource.kind);
        if (isByWorker(call) && !isRead && isOfVm)
          written.push(`${verb} ${resource?.plural} ${key.name}/${subresource}`);
      },
    });
    await disruptAll(world);
    for (const action of ['Stop', 'Migrate'] as const) act(world, action, PETS);
    await world.wait(3 * MINUTE);
    expect(written).toEqual([]);
    expect(budgetOf(world, 'none')?.status?.waiting?.length).toBeGreaterThanOrEqual(4);
  }));

test('an act that the API server refuses gives its place back at once', () =>
  play(async (world) => {
    watchBudgets(world);
    await createVms(world, PETS);
    createBudget(world, 'one', { maxUnavailable: 1 });
    await world.wait(30_000);
    world.refuse = ({ resource, verb }) =>
      verb === 'request' || resource === VirtualMachineInstances ? new KubeError(403, 'Forbidden', 'a policy') : null;
    const since = world.time.now;
    const restart = act(world, 'Restart', PETS);
    await world.until(() => !world.temporal.runs.get(restart)!.isOpen, 5 * MINUTE);
    expect(world.time.now - since).toBeLessThan(20_000);
    expect(claimsOf(world, 'one')).toEqual([]);
  }));

test('a VM that opts out of its update once it is claimed gives its place back', () =>
  play(async (world) => {
    await application(world);
    createBudget(world, 'one', { maxUnavailable: 1 });
    await world.wait(30_000);
    let claimed: string | undefined;
    world.onlookers.push({
      onWrite: () => {
        [claimed] = claimed === undefined ? claimsOf(world, 'one') : [claimed];
        if (claimed === undefined) return;
        const annotations = { [DO_NOT_DISRUPT_ANNOTATION]: 'yes' };
        world.server.write(VirtualMachines, { namespace: NAMESPACE, name: claimed }, (vm) => ({
          ...vm,
          metadata: { ...vm.metadata, annotations: { ...vm.metadata.annotations, ...annotations } },
        }));
      },
    });
    const uids = new Map(world.vms.map(({ metadata: { name } }) => [name, world.vmi(name)?.metadata.uid]));
    await world.people.changePool('web', { template: template(2) });
    await world.until(() => claimed !== undefined, MINUTE);
    await world.wait(5_000);
    expect(claimsOf(world, 'one')).not.toContain(claimed);
    expect(world.vmi(claimed!)?.metadata.uid).toBe(uids.get(claimed!));
  }));

test('a budget of another namespace changes no plan and no write', async () => {
  const journals: string[][] = [];
  for (const maxUnavailable of [0, '100%'])
    await play(
      async (world) => {
        const journal = new Journal(world);
        world.onlookers.push(journal);
        await application(world);
        createBudget(world, 'bank-of-vms', { selector: {}, maxUnavailable });
        await disrupted(world, null);
        journals.push(journal.lines.filter((line) => !line.includes('disruptionbudgets')));
      },
      {},
      1,
    );
  expect(journals[0]).toEqual(journals[1]);
});

test('a drain and a rollout keep to one budget, and migrations to their own limit', () =>
  play(
    async (world) => {
      const guarantees = await application(world);
      addNode(world);
      createBudget(world, 'a', { maxUnavailable: 1, maxMigrating: 1 });
      await world.wait(30_000);
      for (const { metadata } of world.server.all(VirtualMachines))
        if (metadata.name.startsWith('web')) world.kubevirt.evict(metadata.name, false);
      await world.people.changePool('api', { template: template(2) });
      expect(await world.until(() => isUpdated(world, 'api'), 20 * MINUTE)).toBe(true);
      await world.wait(5 * MINUTE);
      expect(guarantees.checked).toBeGreaterThanOrEqual(3);
    },
    { lag: 300 },
    4,
  ));

test('an operation that anybody has labelled as a drain escapes no budget before the nodes are drained', () =>
  play(async (world) => {
    await createVms(world, PETS);
    createBudget(world, 'a', { maxUnavailable: 0, reasons: ['Restart'] });
    await world.wait(30_000);
    const uids = (): unknown[] => PETS.map((name) => world.vmi(name)?.metadata.uid);
    const before = uids();
    const restart = act(world, 'Restart', PETS, 20 * MINUTE, { labels: { [DRAIN_LABEL]: 'node' } });
    await world.wait(MINUTE);
    expect(uids()).toEqual(before);
    for (const { metadata } of world.server.all(Nodes)) world.kubevirt.drain(metadata.name, true);
    expect(await world.until(() => !world.temporal.runs.get(restart)!.isOpen, 5 * MINUTE)).toBe(true);
    expect(uids().some((uid) => before.includes(uid))).toBe(false);
  }));

test('an operation past budgets waits for none but that of the pool, and its places say so', () =>
  play(async (world) => {
    await createVms(world, PETS, { bootMs: 3_000 });
    await world.people.createPool('web', aSpec({ replicas: 3, maxUnavailable: 1, template: template(1) }));
    if (!(await world.until(() => world.pool('web')?.status?.readyReplicas === 3, 2 * MINUTE)))
      world.break('the pool does not come up');
    createBudget(world, 'a', { maxUnavailable: 0 });
    createBudget(world, 'all', { minAvailable: '100%' });
    await world.wait(30_000);
    const replicas = ['web-1', 'web-2', 'web-3'];
    const down = (names: readonly string[]): number => names.filter((name) => !isReady(world.vmi(name))).length;
    const most = { pets: 0, replicas: 0 };
    const marks = new Set<unknown>();
    world.onlookers.push({
      onWrite: () => {
        most.pets = Math.max(most.pets, down(PETS));
        most.replicas = Math.max(most.replicas, down(replicas));
        for (const name of ['a', 'all'])
          for (const { pastBudgets } of budgetOf(world, name)?.status?.claims ?? []) marks.add(pastBudgets);
      },
    });
    const uids = (): unknown[] => [...PETS, ...replicas].map((name) => world.vmi(name)?.metadata.uid);
    const before = uids();
    const runs = [PETS, replicas].map((names) => act(world, 'Restart', names, 20 * MINUTE, { pastBudgets: true }));
    const areOver = (): boolean => runs.every((run) => !world.temporal.runs.get(run)!.isOpen);
    expect(await world.until(areOver, 5 * MINUTE)).toBe(true);
    expect(uids().some((uid) => before.includes(uid))).toBe(false);
    expect(most.pets).toBeGreaterThan(1);
    expect(most.replicas).toBe(1);
    expect([...marks]).toEqual([true]);
  }));

test.each<['Restart' | 'Migrate', 'claimed' | 'noted']>([
  ['Restart', 'claimed'],
  ['Migrate', 'claimed'],
  ['Migrate', 'noted'],
])('a VM that comes under another budget is left as it is: %s, once it is %s', (action, when) =>
  play(
    async (world) => {
      watchBudgets(world);
      await createVms(world, PETS);
      addNode(world);
      createBudget(world, 'a', { maxUnavailable: 1 });
      createBudget(world, 'gold', { selector: { matchLabels: { tier: 'gold' } }, maxUnavailable: 0 });
      await world.wait(30_000);
      const uids = new Map(PETS.map((name) => [name, world.vmi(name)!.metadata.uid]));
      const moved = new Set<string>();
      const move = (name: string): void => {
        if (moved.has(name)) return;
        moved.add(name);
        void world.wait(0).then(() => labelVm(world, name, { ...APP, tier: 'gold' }));
      };
      world.onlookers.push({
        onWrite: ({ resource, after }, call) => {
          if (when === 'claimed' && after?.metadata.name === 'a') claimsOf(world, 'a').forEach(move);
          if (when === 'noted' && resource === VirtualMachines && isByWorker(call)) move(after!.metadata.name);
        },
      });
      act(world, action, PETS, MINUTE);
      await world.wait(5 * MINUTE);
      expect(moved.size).toBeGreaterThan(0);
      for (const name of moved) expect(world.vmi(name)?.metadata.uid).toBe(uids.get(name));
      expect(world.server.all(VirtualMachineInstanceMigrations)).toEqual([]);
    },
    { lag: 300 },
    4,
  ),
);

test('a VM that is replaced and missing for longer than a claim lasts uses up the budget', () =>
  play(async (world) => {
    const guarantees = watchBudgets(world);
    const rollout = { progressDeadlineSeconds: 600 };
    await world.people.createPool('web', aSpec({ replicas: 4, maxUnavailable: 3, rollout, template: withDisk(1) }));
    await createVms(world, PETS);
    await world.until(() => world.pool('web')?.status?.readyReplicas === 4, 2 * MINUTE);
    createBudget(world, 'one', { maxUnavailable: 1 });
    await world.wait(30_000);
    const begun = world.time.now;
    // No VM can be made for longer than a claim lasts.
    const quota = new KubeError(403, 'Forbidden', 'exceeded quota: vms');
    world.refuse = ({ verb, resource }) =>
      verb === 'create' && resource === VirtualMachines && world.time.now < begun + 100_000 ? quota : null;
    await world.people.changePool('web', {
      template: withDisk(2),
      updateStrategy: { proactive: { disruption: 'Replace' } },
    });
    if (!(await world.until(() => world.vmsOf(world.pool('web')!.metadata.uid).length < 4, MINUTE)))
      world.break('no VM is replaced');
    const restart = act(world, 'Restart', PETS);
    const isDone = (): boolean => isUpdated(world, 'web') && !world.temporal.runs.get(restart)!.isOpen;
    if (!(await world.until(isDone, 40 * MINUTE))) world.break('the disruptions do not come to their end');
    expect(guarantees.checked).toBeGreaterThanOrEqual(4);
  }));

/** The spec of a VM whose VMIs never become ready from now on. */
const neverReady = (spec: object): object => {
  const { template: made } = spec as { template: { metadata?: { annotations?: object } } };
  const annotations = { ...made.metadata?.annotations, 'sim.drover.dev/never-ready': 'true' };
  return { ...spec, template: { ...made, metadata: { ...made.metadata, annotations } } };
};

test.each([0, 3])('VMs of one zone alone go down at a time, though %i workers are killed meanwhile', (kills) =>
  play(
    async (world) => {
      addNode(world);
      await world.wait(1_000);
      zoneNodes(world);
      const guarantees = await application(world);
      createBudget(world, 'zones', { topology: { key: ZONE, maxDomains: 1 } });
      await world.wait(30_000);
      const isDone = await disruptAll(world);
      for (let kill = 0; kill < kills; kill++) {
        await world.wait(world.time.between(2_000, 10_000));
        world.kill(world.workers.findLast(({ process }) => process.state === 'running')!);
        await world.addWorker();
      }
      if (!(await world.until(isDone, 60 * MINUTE))) world.break('the disruptions do not come to their end');
      expect(guarantees.checked).toBeGreaterThanOrEqual(10);
    },
    { lag: 300 },
    4,
  ),
);

test('a VM that failed by itself holds all VMs of other zones, also on workers that have not seen where it was', () =>
  play(
    async (world) => {
      addNode(world);
      await world.wait(1_000);
      zoneNodes(world);
      await application(world);
      createBudget(world, 'zones', { topology: { key: ZONE, maxDomains: 1 } });
      await world.wait(30_000);
      const node = world.vmi('pet-1')!.status!.nodeName;
      // It does not come up again.
      world.server.write(VirtualMachines, { namespace: NAMESPACE, name: 'pet-1' }, (vm) => ({
        ...vm,
        metadata: { ...vm.metadata, annotations: { ...vm.metadata.annotations } },
        spec: neverReady(vm['spec'] as object),
      }));
      world.server.delete(VirtualMachineInstances, { namespace: NAMESPACE, name: 'pet-1' });
      await world.wait(20_000);
      for (const worker of world.workers.slice()) {
        world.kill(worker);
        await world.addWorker();
      }
      await world.wait(20_000);
      const others = ['pet-2', 'pet-3'].filter((name) => world.vmi(name)!.status!.nodeName !== node);
      const uids = others.map((name) => world.vmi(name)!.metadata.uid);
      if (others.length > 0) act(world, 'Restart', others, MINUTE);
      await world.wait(3 * MINUTE);
      expect(others.map((name) => world.vmi(name)?.metadata.uid)).toEqual(uids);
      expect(claimsOf(world, 'zones')).toEqual(['pet-1']);
    },
    {},
    3,
  ));

/** Returns how long what has the first turn has left room unused, at the longest. */
function watchTurns(world: World, name: string): () => number {
  let [longest, first, since] = [0, '', 0];
  world.onlookers.push({
    onWrite: () => {
      const { waiting = [], disruptionsAllowed = 0 } = budgetOf(world, name)?.status ?? {};
      const now = disruptionsAllowed > 0 ? (waiting[0]?.by ?? '') : '';
      if (first !== '') longest = Math.max(longest, world.time.now - since);
      if (now !== first) [first, since] = [now, world.time.now];
    },
  });
  return () => longest;
}

test('a long rollout has no restart of another VM wait for its end', () =>
  play(
    async (world) => {
      watchBudgets(world);
      const rollout = { progressDeadlineSeconds: 600 };
      await world.people.createPool('web', aSpec({ replicas: 24, maxUnavailable: 4, rollout, template: template(1) }));
      await createVms(world, PETS, { bootMs: 3_000 });
      await world.until(() => world.pool('web')?.status?.readyReplicas === 24, 2 * MINUTE);
      createBudget(world, 'one', { maxUnavailable: 1 });
      await world.wait(30_000);
      await world.people.changePool('web', { template: template(2) });
      await world.until(() => claimsOf(world, 'one').length > 0, MINUTE);
      await world.wait(5_000);
      const since = world.time.now;
      const longest = watchTurns(world, 'one');
      const restart = act(world, 'Restart', PETS);
      const isDone = (): boolean => !world.temporal.runs.get(restart)!.isOpen;
      if (!(await world.until(isDone, 20 * MINUTE))) world.break('the restart does not end');
      expect(world.time.now - since).toBeLessThan(MINUTE);
      expect(isUpdated(world, 'web')).toBe(false);
      if (!(await world.until(() => isUpdated(world, 'web'), 20 * MINUTE))) world.break('the rollout does not end');
      expect(longest()).toBeLessThan(10_000);
      await world.wait(40_000);
      expect(budgetOf(world, 'one')?.status?.waiting).toEqual([]);
    },
    {},
    4,
  ));

test('an operation that is aborted leaves its turn in a budget to others at once', () =>
  play(async (world) => {
    await createVms(world, PETS, { bootMs: 12_000 });
    createBudget(world, 'one', { maxUnavailable: 1 });
    await world.wait(5_000);
    world.server.delete(VirtualMachineInstances, { namespace: NAMESPACE, name: 'pet-1' });
    await world.wait(1_000);
    const restarts: string[] = [];
    for (const name of ['pet-2', 'pet-3']) {
      restarts.push(act(world, 'Restart', [name]));
      await world.wait(3_000);
    }
    expect(budgetOf(world, 'one')?.status?.waiting?.map(({ by }) => by)).toEqual(restarts);
    steer(world, restarts[0]!, 'abort');
    await world.until(() => isReady(world.vmi('pet-1')), MINUTE);
    if (!(await world.until(() => !isReady(world.vmi('pet-3')), 5_000))) world.break('pet-3 waits for nobody');
  }));

const ofSockets = (sockets: number): VmTemplate => ({
  metadata: { labels: APP },
  ...aTemplate({ sockets, memory: '1Gi' }),
});

/** Whether a pool of three is ready at this generation. */
function isAt(world: World, generation: number): boolean {
  const { updatedReplicas, readyReplicas, observedGeneration } = world.pool('web')?.status ?? {};
  return observedGeneration === generation && updatedReplicas === 3 && readyReplicas === 3;
}

test('changes that KubeVirt applies by migrations, of VMs that run, migrate no more VMs at once than a budget allows', () =>
  play(
    async (world) => {
      await createVms(world, PETS, { sockets: 1, memory: '1Gi' });
      await world.people.createPool('web', aSpec({ replicas: 3, template: ofSockets(1) }));
      if (!(await world.until(() => isAt(world, 1), 2 * MINUTE))) world.break('the pool does not come up');
      addNode(world);
      createBudget(world, 'a', { maxUnavailable: 1, maxMigrating: 1 });
      await world.wait(30_000);
      let most = 0;
      let made = 0;
      world.onlookers.push({
        onWrite: ({ resource, before }) => {
          if (resource !== VirtualMachineInstanceMigrations) return;
          const all = world.server.all<Migration>(VirtualMachineInstanceMigrations);
          most = Math.max(most, all.filter((one) => !isOver(one)).length);
          if (before === undefined) made++;
        },
      });
      const change = patchPets(world, withSockets(2));
      await world.people.changePool('web', { template: ofSockets(2) });
      const isDone = (): boolean => !world.temporal.runs.get(change)!.isOpen && isAt(world, 2);
      if (!(await world.until(isDone, 30_000))) world.break('places are held that nothing uses any more');
      await world.wait(MINUTE);
      expect([made, most]).toEqual([6, 1]);
    },
    {},
    3,
  ));

test('changes that KubeVirt makes without a migration hold no place once they are written', () =>
  play(
    async (world) => {
      await createVms(world, PETS);
      await world.people.createPool('web', aSpec({ replicas: 3, template: template(1) }));
      if (!(await world.until(() => isAt(world, 1), 2 * MINUTE))) world.break('the pool does not come up');
      createBudget(world, 'a', { maxUnavailable: 1, maxMigrating: 1 });
      await world.wait(30_000);
      const nodeSelector = { 'kubernetes.io/os': 'linux' };
      const change = patchPets(world, { spec: { template: { spec: { nodeSelector } } } });
      const moved = template(1);
      Object.assign(moved.spec.template.spec as object, { nodeSelector });
      await world.people.changePool('web', { template: moved });
      const isDone = (): boolean => !world.temporal.runs.get(change)!.isOpen && isAt(world, 2);
      if (!(await world.until(isDone, 30_000))) world.break('places are held that nothing uses');
      expect(claimsOf(world, 'a')).toEqual([]);
    },
    {},
    3,
  ));

const GOLD = { tier: 'gold' };

/** Begins to change all VMs so that they get the label `GOLD`; `made`: of VMs in a pool. */
const toGold: [string, made: ((isGold: boolean) => VmTemplate) | null][] = [
  ['a change that KubeVirt migrates for', null],
  ['an update of a pool that KubeVirt migrates for', (isGold) => aTemplate({ sockets: isGold ? 2 : 1, memory: '1Gi' })],
  ['an update of a pool that restarts VMs', (isGold) => aTemplate({ version: isGold ? 2 : 1 })],
  ['a replacement', (isGold) => (isGold ? fromAnotherSource : aTemplate)({ disk: 'root' })],
];

test.each(toGold)('what brings VMs under a budget disrupts no more of them than that allows: %s', (_what, made) =>
  play(
    async (world) => {
      const names = made === null ? PETS : ['web-1', 'web-2', 'web-3'];
      const templateOf = (isGold: boolean): VmTemplate => ({
        ...made!(isGold),
        metadata: { labels: isGold ? GOLD : {} },
      });
      if (made === null) await createVms(world, PETS, { sockets: 1, memory: '1Gi' });
      else {
        const updateStrategy = { proactive: { disruption: 'Replace' as const } };
        const spec = { replicas: 3, maxUnavailable: 3, updateStrategy, template: templateOf(false) };
        await world.people.createPool('web', aSpec(spec));
      }
      const areReady = (): boolean => names.every((name) => isReady(world.vmi(name)));
      if (!(await world.until(areReady, 2 * MINUTE))) world.break('the VMs do not come up');
      addNode(world);
      createBudget(world, 'gold', { selector: { matchLabels: GOLD }, maxUnavailable: 1 });
      await world.wait(30_000);
      let most = 0;
      const count = (): void => {
        const moving = world.server.all<Migration>(VirtualMachineInstanceMigrations).filter((one) => !isOver(one));
        const down = names.filter((name) => !isReady(world.vmi(name)));
        most = Math.max(most, new Set([...down, ...moving.map(({ spec }) => spec.vmiName)]).size);
      };
      world.onlookers.push({ onWrite: count });
      if (made === null) patchPets(world, { metadata: { labels: GOLD }, ...withSockets(2) });
      else await world.people.changePool('web', { template: templateOf(true) });
      const areGold = (): boolean =>
        areReady() && names.every((name) => world.vm(name)?.metadata.labels?.['tier'] === 'gold');
      if (!(await world.until(areGold, 20 * MINUTE))) world.break('the VMs are not changed');
      await world.wait(MINUTE);
      expect(most).toBe(1);
    },
    {},
    3,
  ),
);

test('a change that waits for a budget looks at each of its VMs once a second', () =>
  play(
    async (world) => {
      await createVms(world, PETS, { sockets: 1, memory: '1Gi' });
      createBudget(world, 'a', { maxUnavailable: 0 });
      await world.wait(30_000);
      patchPets(world, withSockets(2));
      await world.wait(10_000);
      let reads = 0;
      world.onlookers.push({
        onCall: ({ verb, resource }) => void (verb === 'get' && resource === VirtualMachines && reads++),
      });
      await world.wait(20_000);
      expect(reads).toBeGreaterThan(PETS.length);
      expect(reads).toBeLessThanOrEqual(21 * PETS.length);
    },
    {},
    1,
  ));
