import '../world/real-code.ts';
import { expect, test } from 'vitest';
import {
  DisruptionClaims,
  type DisruptionClaim,
  type DisruptionRequest,
} from '../../../activities/disruption-budget/disruption-claims.ts';
import { inPlace } from '../../../activities/disruption-budget/without-place.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { BY_KUBEVIRT } from '../../../decisions/disruption-budget/any-vms/places.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { Semaphore } from '../../../kubernetes/lib/semaphore.ts';
import { aSpec, aTemplate } from '../pools.ts';
import { APP, ZONE } from '../random/budgets.ts';
import { play as playWith } from '../stories/story.ts';
import type { Write } from '../world/api-server.ts';
import { NAMESPACE } from '../world/names.ts';
import { runAs } from '../world/virtual-time.ts';
import type { World } from '../world/world.ts';
import { budgetOf, claimsOf, createBudget, createVms, labelVm, placeOf, zoneNodes } from './budgets.ts';

const play = (...[live, options, seeds]: Parameters<typeof playWith>): Promise<void> =>
  playWith(live, { budgets: true, ...options }, seeds);

/** A worker's claims, and what it asks. */
function claimant(world: World, index = 0) {
  const worker = world.workers[index]!;
  const claims = runAs(
    worker.process,
    () => new DisruptionClaims(world.clientOf(worker.process).asClient, worker.cache),
  );
  const request = (name: string, fields: Partial<DisruptionRequest> = {}): DisruptionRequest => {
    const vm = worker.cache.vms.get(`${NAMESPACE}/${name}`)!;
    const { metadata } = world.pool('web') ?? {};
    const pool = vm.owner === null ? null : { namespace: NAMESPACE, name: 'web', uid: metadata!.uid };
    return { vm, vmi: worker.cache.vmiOf(vm), by: `power/${index}`, reason: 'Restart', pool, ...fields };
  };
  const claim = (name: string, fields: Partial<DisruptionRequest> = {}) =>
    runAs(worker.process, () => claims.claim(request(name, fields)));
  const run = <T>(act: () => T): T => runAs(worker.process, act);
  return { worker, claims, request, claim, run };
}

const isGranted = (answer: object): boolean => !('message' in answer);

/** Names of the budgets and pools whose status is written from now on. */
function statusWrites(world: World): string[] {
  const written: string[] = [];
  const onWrite = ({ resource, before, after }: Write): void => {
    const isStatus = JSON.stringify(before?.['status']) !== JSON.stringify(after?.['status']);
    if (isStatus && /Budget|Pool/.test(resource.kind)) written.push(after!.metadata.name);
  };
  world.onlookers.push({ onWrite });
  return written;
}

test('a VM takes a place in all budgets that select it, in the order of their names, and in its pool last', () =>
  play(async (world) => {
    const template = { metadata: { labels: APP }, ...aTemplate() };
    await world.people.createPool('web', aSpec({ replicas: 3, template }));
    await world.until(() => world.pool('web')?.status?.readyReplicas === 3, 60_000);
    for (const name of ['b', 'all-of-them', 'a']) createBudget(world, name);
    await world.wait(1_000);
    const { claim, run } = claimant(world);
    const written = statusWrites(world);
    const answer = await claim('web-1');
    if ('message' in answer) return world.break(answer.message);
    expect(written).toEqual(['all-of-them', 'a', 'b', 'web']);
    expect(world.pool('web')?.status?.disruptedVMs?.map(({ vm }) => vm)).toEqual(['web-1']);
    expect(budgetOf(world, 'a')?.status).toMatchObject({
      expected: 3,
      available: 2,
      disruptionsAllowed: 0,
      claims: [{ vm: 'web-1', namespace: NAMESPACE, by: 'power/0', reason: 'Restart' }],
    });
    await run(() => answer.release('pool'));
    expect([claimsOf(world, 'a'), world.pool('web')?.status?.disruptedVMs]).toEqual([['web-1'], []]);
    await run(() => answer.release());
    const another = { namespace: NAMESPACE, name: 'web', uid: 'another' };
    expect(await claim('web-1', { pool: another })).toEqual({ budget: 'another', message: 'its pool is gone' });
    expect(claimsOf(world, 'a')).toEqual([]);
  }));

test('what may be for either of two reasons asks the budgets that hold for one of them', () =>
  play(async (world) => {
    await createVms(world, ['db-1']);
    for (const reason of ['Drain', 'Restart', 'Stop'] as const)
      createBudget(world, reason.toLowerCase(), { maxUnavailable: 1, reasons: [reason] });
    await world.wait(1_000);
    expect(isGranted(await claimant(world).claim('db-1', { maybeFor: 'Drain' }))).toBe(true);
    expect(['drain', 'restart', 'stop'].map((name) => claimsOf(world, name))).toEqual([['db-1'], ['db-1'], []]);
  }));

test('a VM that gets other labels with an act takes a place in the budgets that select it by either', () =>
  play(
    async (world) => {
      await createVms(world, ['db-1', 'db-2']);
      const gold = { tier: 'gold' };
      labelVm(world, 'db-2', gold);
      createBudget(world, 'a');
      createBudget(world, 'gold', { selector: { matchLabels: gold }, maxUnavailable: 1 });
      await world.wait(2_000);
      const [one, other] = [claimant(world, 0), claimant(world, 1)];
      expect(isGranted(await one.claim('db-1', { migration: BY_KUBEVIRT, becomes: gold }))).toBe(true);
      expect([claimsOf(world, 'a'), claimsOf(world, 'gold')]).toEqual([['db-1'], ['db-1']]);
      expect(isGranted(await other.claim('db-2'))).toBe(false);
      labelVm(world, 'db-1', gold);
      expect(isGranted(await other.claim('db-2'))).toBe(false);
      await world.wait(5_000);
      expect(isGranted(await other.claim('db-2'))).toBe(false);
      await world.wait(60_000);
      expect(isGranted(await other.claim('db-2'))).toBe(true);
    },
    { lag: 500 },
    4,
  ));

test('a claim without room in one budget gives back the places that it has in others', () =>
  play(
    async (world) => {
      await createVms(world, ['db-1', 'db-2', 'db-3']);
      createBudget(world, 'a', { maxUnavailable: 2 });
      createBudget(world, 'b');
      await world.wait(1_000);
      const [one, other] = [claimant(world, 0), claimant(world, 1)];
      // Another worker takes the last place in `b` as soon as this one has a place in `a`.
      let taken: Promise<unknown> | undefined;
      world.onlookers.push({
        onWrite: ({ after }, call) => {
          if (after?.metadata.name === 'a' && call?.process === one.worker.process && taken === undefined)
            taken = other.claim('db-2', { reason: 'Drain' });
        },
      });
      const answers = [await one.claim('db-1'), await taken!];
      await world.wait(1_000);
      const granted = answers.map((answer) => isGranted(answer as object));
      expect(granted.filter(Boolean).length).toBeLessThanOrEqual(1);
      const held = ['db-1', 'db-2'].filter((_, index) => granted[index]);
      expect([claimsOf(world, 'a'), claimsOf(world, 'b')]).toEqual([held, held]);
    },
    {},
    8,
  ));

test('a claim that fails in one budget gives back the places that it has in others', () =>
  play(async (world) => {
    await createVms(world, ['db-1']);
    for (const name of ['a', 'b']) createBudget(world, name);
    await world.wait(2_000);
    world.refuse = ({ verb, key }) =>
      verb === 'patch' && key.name === 'b' ? new KubeError(403, 'Forbidden', 'a policy') : null;
    const { claim, claims, run } = claimant(world);
    await expect(claim('db-1')).rejects.toThrow('a policy');
    expect([claimsOf(world, 'a'), claimsOf(world, 'b')]).toEqual([[], []]);
    labelVm(world, 'db-1', {});
    await world.wait(2_000);
    await expect(run(() => claims.refresh(() => true))).rejects.toThrow('a policy');
  }));

test('a budget that this worker knows to be full costs no call', () =>
  play(async (world) => {
    await createVms(world, ['db-1', 'db-2']);
    createBudget(world, 'a', { maxUnavailable: 2 });
    createBudget(world, 'b', { maxUnavailable: 0 });
    await world.wait(1_000);
    const { claim, worker } = claimant(world);
    let calls = 0;
    world.onlookers.push({ onCall: ({ process }) => void (process === worker.process && calls++) });
    expect(await claim('db-1')).toMatchObject({ budget: budgetOf(world, 'b')!.metadata.uid });
    expect(calls).toBe(0);
  }));

test('what waits is listed as a workflow with its number of VMs, until that leaves', () =>
  play(async (world) => {
    await createVms(world, ['db-1', 'db-2']);
    createBudget(world, 'a', { maxUnavailable: 0 });
    await world.wait(3_000);
    const { claim, claims, run, worker } = claimant(world);
    let writes = 0;
    world.onlookers.push({
      onCall: ({ process, verb }) => void (process === worker.process && verb === 'patch' && writes++),
    });
    const waiting = () => budgetOf(world, 'a')?.status?.waiting?.map(({ by, vms }) => [by, vms]);
    const leave = async (by: string): Promise<void> => {
      run(() => claims.leave(by));
      await world.wait(500);
    };
    const by = 'pool/lab/shop/web/update/abc/1';
    await Promise.all(['db-1', 'db-2'].map((name) => claim(name, { by })));
    await world.wait(500);
    await leave('power/another');
    expect(waiting()).toEqual([['pool/lab/shop/web', 2]]);
    await leave(by);
    expect([waiting(), writes]).toEqual([[], 2]);
  }));

test('a claim that another workflow has taken over in the same write is given back by that alone', () =>
  play(async (world) => {
    await createVms(world, ['db-1'], { bootMs: 60_000 });
    createBudget(world, 'a');
    await world.wait(1_000);
    world.server.delete(VirtualMachineInstances, { namespace: NAMESPACE, name: 'db-1' });
    await world.wait(1_000);
    const { claim, run } = claimant(world);
    const answers = await Promise.all(['power/0', 'power/1'].map((by) => claim('db-1', { by })));
    const holders = () => budgetOf(world, 'a')!.status!.claims!.map(({ by }) => by);
    expect(holders()).toEqual(['power/1']);
    await run(() => Promise.all(answers.map((answer) => (answer as DisruptionClaim).release())));
    expect(holders()).toEqual([]);
  }));

test('what one worker claims at once costs one write of each budget', () =>
  play(async (world) => {
    const names = ['db-1', 'db-2', 'db-3', 'db-4', 'db-5'];
    await createVms(world, names);
    for (const name of ['a', 'b']) createBudget(world, name, { maxUnavailable: 4 });
    await world.wait(2_000);
    const { claim } = claimant(world);
    const written = statusWrites(world);
    const answers = await Promise.all(names.map((name) => claim(name)));
    expect(answers.filter(isGranted)).toHaveLength(4);
    expect(written).toEqual(['a', 'b']);
  }));

test('VMs that come one after the other are claimed together, by one write to each budget, though one acts at a time', () =>
  play(async (world) => {
    const names = ['db-1', 'db-2', 'db-3', 'db-4', 'db-5'];
    await createVms(world, names);
    for (const name of ['a', 'b']) createBudget(world, name, { maxUnavailable: '100%' });
    await world.wait(3_000);
    const { claim } = claimant(world);
    const written = statusWrites(world);
    const answers: Promise<object>[] = [];
    const acts = new Semaphore(1);
    let left = 0;
    for (const name of names) {
      const act = inPlace(
        acts,
        () => void left++,
        () => claim(name),
      );
      answers.push(act);
      await world.wait(80);
    }
    // Waiting takes none of the places of what acts.
    expect(acts.free).toBe(1);
    expect(left).toBeGreaterThan(4);
    expect((await Promise.all(answers)).every(isGranted)).toBe(true);
    expect(written).toEqual(['a', 'b', 'a', 'b']);
    expect(claimsOf(world, 'b')).toEqual(names);
  }));

test('a VM that has moved to another zone since its act was decided is claimed in that zone', () =>
  play(async (world) => {
    await createVms(world, ['db-1', 'db-2']);
    zoneNodes(world);
    createBudget(world, 'a', { maxUnavailable: '100%', topology: { key: ZONE, maxDomains: 1 } });
    await world.wait(3_000);
    const { claim, request } = claimant(world);
    const [{ node }, moved] = ['db-1', 'db-2'].map((name) => request(name).vmi!) as [VmiView, VmiView];
    expect(moved.node).not.toBe(node);
    expect(isGranted(await claim('db-1'))).toBe(true);
    expect(isGranted(await claim('db-2', { vmi: { ...moved, node, resourceVersion: '1' } }))).toBe(false);
  }));

test('workers that claim at once get no more places than there are, however late their caches are', () =>
  play(
    async (world) => {
      const names = ['db-1', 'db-2', 'db-3', 'db-4', 'db-5', 'db-6'];
      await createVms(world, names);
      createBudget(world, 'a', { maxUnavailable: 2 });
      createBudget(world, 'all', { minAvailable: 3 });
      await world.wait(2_000);
      const workers = [claimant(world, 0), claimant(world, 1), claimant(world, 2)];
      const answers = await Promise.all(names.map((name, index) => workers[index % 3]!.claim(name)));
      expect(answers.filter(isGranted).length).toBeLessThanOrEqual(2);
      expect(claimsOf(world, 'a').toSorted()).toEqual(claimsOf(world, 'all').toSorted());
    },
    { workers: 3, lag: 1_000 },
    8,
  ));

test('a place is taken until caches show its VM down, and again once the VM is back', () =>
  play(
    async (world) => {
      await createVms(world, ['db-1', 'db-2'], { bootMs: 5_000 });
      createBudget(world, 'a');
      await world.wait(1_000);
      const [one, other] = [claimant(world, 0), claimant(world, 1)];
      expect(isGranted(await one.claim('db-1'))).toBe(true);
      expect(isGranted(await other.claim('db-2'))).toBe(false);
      world.server.delete(VirtualMachineInstances, { namespace: NAMESPACE, name: 'db-1' });
      expect(isGranted(await other.claim('db-2'))).toBe(false);
      await world.wait(3_000);
      expect(isGranted(await other.claim('db-2'))).toBe(false);
      await world.wait(10_000);
      expect(isGranted(await other.claim('db-2'))).toBe(true);
      expect(claimsOf(world, 'a')).toEqual(['db-2']);
    },
    { lag: 500 },
    4,
  ));

test('a VM that is down counts on workers that have not heard of it, once its claim has ended', () =>
  play(
    async (world) => {
      await createVms(world, ['db-1', 'db-2', 'db-3'], { bootMs: 60_000 });
      createBudget(world, 'a', { maxUnavailable: 2 });
      await world.wait(10_000);
      const [one, other] = [claimant(world, 0), claimant(world, 1)];
      expect(isGranted(await one.claim('db-1'))).toBe(true);
      world.server.delete(VirtualMachineInstances, { namespace: NAMESPACE, name: 'db-1' });
      const { vms, vmis } = one.worker.cache;
      const isDown = (): boolean =>
        vmis.get(`${NAMESPACE}/db-1`)?.ready !== true && vms.get(`${NAMESPACE}/db-1`)!.ready;
      await world.until(isDown, 5_000);
      const answers = [await one.claim('db-2'), await other.claim('db-3')];
      expect(claimsOf(world, 'a')).not.toContain('db-1');
      expect(answers.map(isGranted)).toEqual([true, false]);
    },
    { lag: 3_000 },
    16,
  ));

test('a worker whose watches are late counts what another has seen go down', () =>
  play(async (world) => {
    await createVms(world, ['db-1', 'db-2', 'db-3'], { bootMs: 60_000 });
    createBudget(world, 'a', { maxUnavailable: 2 });
    await world.wait(1_000);
    const [one, other] = [claimant(world, 0), claimant(world, 1)];
    other.worker.process.deafUntil = world.time.now + 9_000;
    expect(isGranted(await one.claim('db-1'))).toBe(true);
    world.server.delete(VirtualMachineInstances, { namespace: NAMESPACE, name: 'db-1' });
    await world.wait(3_000);
    expect(isGranted(await one.claim('db-2'))).toBe(true);
    expect(claimsOf(world, 'a')).toEqual(['db-2']);
    expect(other.worker.cache.vmis.get(`${NAMESPACE}/db-1`)?.ready).toBe(true);
    expect(isGranted(await other.claim('db-3'))).toBe(false);
  }));

test('a claim of a VM that has come up again counts on workers that know only its VMI before', () =>
  play(async (world) => {
    await createVms(world, ['db-1', 'db-2'], { bootMs: 1_000 });
    createBudget(world, 'a');
    await world.wait(1_000);
    const [one, other] = [claimant(world, 0), claimant(world, 1)];
    const before = other.worker.cache.vmis.get(`${NAMESPACE}/db-1`)?.uid;
    other.worker.process.deafUntil = world.time.now + 9_000;
    world.server.delete(VirtualMachineInstances, { namespace: NAMESPACE, name: 'db-1' });
    await world.wait(5_000);
    expect(isGranted(await one.claim('db-1'))).toBe(true);
    expect(other.worker.cache.vmis.get(`${NAMESPACE}/db-1`)?.uid).toBe(before);
    expect(isGranted(await other.claim('db-2'))).toBe(false);
  }));

test('a claim that was used at the last moment does not lapse, though a worker has not heard of that', () =>
  play(async (world) => {
    await createVms(world, ['db-1', 'db-2'], { bootMs: 60_000 });
    createBudget(world, 'a');
    await world.wait(1_000);
    const [one, other] = [claimant(world, 0), claimant(world, 1)];
    expect(isGranted(await one.claim('db-1'))).toBe(true);
    await world.wait(58_000);
    other.worker.process.deafUntil = world.time.now + 9_000;
    world.server.delete(VirtualMachineInstances, { namespace: NAMESPACE, name: 'db-1' });
    await world.wait(4_000);
    expect(isGranted(await other.claim('db-2'))).toBe(false);
    expect(claimsOf(world, 'a')).toEqual(['db-1']);
  }));

test('a worker that has lost the API server claims nothing before its caches follow again', () =>
  play(async (world) => {
    await createVms(world, ['db-1']);
    createBudget(world, 'a');
    await world.wait(1_000);
    const { claim, worker } = claimant(world);
    world.cutOff(worker, true);
    await world.wait(60_000);
    world.cutOff(worker, false);
    await expect(claim('db-1')).rejects.toThrow('this worker cannot reach the API server');
    await world.wait(30_000);
    expect(isGranted(await claim('db-1'))).toBe(true);
  }));

test('without budgets, a claim of a VM in a pool writes the status of that alone, and one of another VM takes no call', () =>
  play(async (world) => {
    await world.people.createPool('web', aSpec({ replicas: 1 }));
    await createVms(world, ['db-1']);
    const { claim, run, worker } = claimant(world);
    const calls: string[] = [];
    world.onlookers.push({
      onCall: ({ process, verb, resource, subresource }) =>
        void (process === worker.process && calls.push(`${verb} ${resource?.plural}/${subresource}`)),
    });
    expect([isGranted(await claim('db-1')), calls]).toEqual([true, []]);
    const answer = await claim('web-1');
    expect([isGranted(answer), calls]).toEqual([true, ['patch virtualmachinepools/status']]);
    const isFresh = (): boolean => run(() => (answer as DisruptionClaim).isFresh());
    expect(isFresh()).toBe(true);
    await world.wait(10_001);
    expect(isFresh()).toBe(false);
  }));

test('a claim is too old as soon as its first place is, however long the others took', () =>
  play(async (world) => {
    await createVms(world, ['db-1']);
    for (const name of ['a', 'b']) createBudget(world, name);
    await world.wait(1_000);
    const { claim, run, worker } = claimant(world);
    const fresh = await claim('db-1');
    expect(!('message' in fresh) && run(() => fresh.isFresh())).toBe(true);
    let isFrozen = false;
    world.onlookers.push({
      onWrite: ({ after }) => {
        if (after?.metadata.name !== 'a' || isFrozen) return;
        isFrozen = true;
        world.freeze(worker);
        void world.wait(10_001).then(() => world.thaw(worker));
      },
    });
    const late = await claim('db-1');
    expect(isFrozen && !('message' in late) && run(() => late.isFresh())).toBe(false);
  }));

test('a place that is given back, or was not used for a minute, is free', () =>
  play(async (world) => {
    await createVms(world, ['db-1', 'db-2']);
    createBudget(world, 'a');
    await world.wait(1_000);
    const [one, other] = [claimant(world, 0), claimant(world, 1)];
    const first = await one.claim('db-1');
    if ('message' in first) return world.break(first.message);
    await one.run(() => first.release());
    expect(claimsOf(world, 'a')).toEqual([]);
    expect(isGranted(await one.claim('db-1'))).toBe(true);
    await world.wait(1_000);
    // Others wait for its VM, and not for room.
    expect(isGranted(await other.claim('db-1'))).toBe(false);
    await world.wait(1_000);
    expect(budgetOf(world, 'a')?.status?.waiting).toEqual([]);
    await world.wait(48_000);
    expect(isGranted(await other.claim('db-2'))).toBe(false);
    await world.wait(20_000);
    expect(isGranted(await other.claim('db-2'))).toBe(true);
  }));

test('VMs of one name in two namespaces have a place each, and give back their own', () =>
  play(async (world) => {
    await createVms(world, ['db-1']);
    world.server.create(VirtualMachines, {
      metadata: { namespace: 'bank', name: 'db-1', labels: APP },
      spec: world.vm('db-1')!['spec'],
    });
    createBudget(world, 'all', { maxUnavailable: 2 });
    await world.wait(10_000);
    const { claim, run, worker } = claimant(world);
    const vm = worker.cache.vms.get('bank/db-1')!;
    const claims = [await claim('db-1'), await claim('db-1', { vm, vmi: worker.cache.vmiOf(vm) })];
    const namespaces = (): unknown[] => budgetOf(world, 'all')!.status!.claims!.map(({ namespace }) => namespace);
    expect(namespaces()).toEqual([NAMESPACE, 'bank']);
    await run(() => (claims[1] as DisruptionClaim).release());
    expect(namespaces()).toEqual([NAMESPACE]);
  }));

test('a worker need not read what it has written itself, though its caches are late', () =>
  play(
    async (world) => {
      await createVms(world, ['db-1']);
      createBudget(world, 'a');
      await world.wait(3_000);
      const { claim, run, worker } = claimant(world);
      const calls: string[] = [];
      world.onlookers.push({
        onCall: ({ process, verb, resource }) =>
          void (process === worker.process && /Budget/.test(resource?.kind ?? '') && calls.push(verb)),
      });
      const answer = await claim('db-1');
      await run(() => (answer as DisruptionClaim).release());
      expect([claimsOf(world, 'a'), calls]).toEqual([[], ['patch', 'patch']]);
    },
    { lag: 1_000 },
  ));

test('a claim covers a VM as long as its labels bring it under no other budget', () =>
  play(async (world) => {
    await createVms(world, ['db-1']);
    createBudget(world, 'a');
    createBudget(world, 'gold', { selector: { matchLabels: { tier: 'gold' } }, maxUnavailable: 1 });
    await world.wait(1_000);
    const { claim, run } = claimant(world);
    const answer = await claim('db-1');
    if ('message' in answer) return world.break(answer.message);
    const covers = (labels: Record<string, string>): boolean =>
      run(() => answer.covers({ namespace: NAMESPACE, ownLabels: labels }));
    expect([covers(APP), covers({}), covers({ ...APP, tier: 'gold' })]).toEqual([true, true, false]);
    createBudget(world, 'b');
    await world.wait(1_000);
    expect(covers(APP)).toBe(false);
  }));

test('a budget that is deleted in between holds nobody up, and one that is made again under its name is asked anew', () =>
  play(async (world) => {
    await createVms(world, ['db-1', 'db-2']);
    createBudget(world, 'a');
    createBudget(world, 'b');
    await world.wait(1_000);
    const { claim } = claimant(world);
    let isDeleted = false;
    world.onlookers.push({
      onWrite: ({ after }) => {
        if (after?.metadata.name !== 'a' || isDeleted) return;
        isDeleted = true;
        const { resource, key } = placeOf('b');
        world.server.delete(resource, key);
        createBudget(world, 'b', { maxUnavailable: 0 });
      },
    });
    expect(isGranted(await claim('db-1'))).toBe(true);
    expect(claimsOf(world, 'b')).toEqual([]);
    await world.wait(1_000);
    expect(isGranted(await claim('db-1'))).toBe(false);
  }));

test('counts follow labels, selectors and limits that change', () =>
  play(async (world) => {
    await createVms(world, ['db-1', 'db-2', 'db-3']);
    createBudget(world, 'a', { minAvailable: 3 });
    await world.wait(1_000);
    const { claim } = claimant(world);
    const change = (spec: object): void => {
      const { resource, key } = placeOf('a');
      world.server.write(resource, key, (budget) => ({ ...budget, spec: { ...(budget['spec'] as object), ...spec } }));
    };
    const matters: [string, () => void, boolean][] = [
      ['as it is', () => {}, false],
      ['with another limit', () => change({ minAvailable: 2 }), true],
      ['without a VM', () => labelVm(world, 'db-3', {}), false],
      ['with it again', () => labelVm(world, 'db-3'), true],
      ['with another selector', () => change({ selector: { matchLabels: { tier: 'gold' } } }), true],
      ['with all', () => change({ selector: {}, minAvailable: 3 }), false],
    ];
    for (const [what, happen, expected] of matters) {
      happen();
      await world.wait(1_000);
      const answer = await claim('db-1');
      expect([what, isGranted(answer)]).toEqual([what, expected]);
      if (!('message' in answer)) await runAs(world.workers[0]!.process, () => answer.release());
    }
  }));
