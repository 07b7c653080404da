import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DrainCard, OwnerCard, VmCell } from '../../../clients/dashboard/contract/fleet.ts';
import { Fleet } from '../../../clients/dashboard/fleet/fleet.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import { CORDON_TAINT } from '../../../decisions/views/drained-node.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { aVmi } from '../../decisions/fixtures/fleets.ts';
import { byApproval, hashOf } from '../rollout/pools.ts';
import { add, aMember, aPoolWith } from './objects.ts';
import { Viewer } from './viewer.ts';

const NOW = Date.parse('2026-01-01T00:00:30Z');
const aFleet = (whyNot: string | null = null, now = () => NOW): Fleet => new Fleet({ whyNot: () => whyNot, now });
const POOL = 'VirtualMachinePool';
const WEB = 'pool/default/web';

function cardOf(given: Parameters<typeof aPoolWith>[0]): OwnerCard {
  const fleet = aFleet();
  fleet.setOwner(POOL, undefined, aPoolWith(given));
  return seen(fleet).card;
}

const whyNot = (card: OwnerCard, name: string) => card.actions.find((one) => one.name === name)?.whyNot;

function seen(fleet: Fleet): { card: OwnerCard; cells: VmCell[]; viewer: Viewer } {
  const viewer = new Viewer().delta(fleet.collect());
  return { card: viewer.items.get(WEB) as OwnerCard, cells: [...(viewer.cells.get(WEB)?.values() ?? [])], viewer };
}

describe('a card of a pool', () => {
  test('has a square for each VM, by its state and its revision', () => {
    const fleet = aFleet();
    fleet.setOwner(POOL, undefined, aPoolWith());
    add(fleet, aMember('web-1'));
    add(fleet, aMember('web-2', { revision: hashOf(2) }));
    add(fleet, aMember('web-3', { ready: false }), { ready: false });
    add(fleet, aMember('web-4', { state: 'CrashLoopBackOff', ready: false, startFailures: 3, hasVmi: false }));
    add(fleet, aMember('web-5', { deleting: true }));
    add(fleet, aMember('web-6', { runStrategy: 'Halted', hasVmi: false, ready: false, state: 'Stopped' }));
    const { card, cells } = seen(fleet);
    expect(cells).toEqual([
      ['web-1', 'R', 1],
      ['web-2', 'R', 0],
      ['web-3', 'D', 1],
      ['web-4', 'F', 1],
      ['web-5', 'T', 1],
      ['web-6', 'O', 1],
    ]);
    expect(card).toMatchObject({
      desired: 10,
      current: 5,
      ready: 2,
      stopped: 1,
      counts: { R: 2, D: 1, F: 1, T: 1, O: 1 },
      revisions: [
        { hash: hashOf(2), is: 'new' },
        { hash: hashOf(1), is: 'old' },
      ],
    });
  });

  test('calls the revision of a canary that was undone neither new nor old', () => {
    const fleet = aFleet();
    fleet.setOwner(POOL, undefined, aPoolWith({ status: { currentRevision: hashOf(2) } }));
    add(fleet, aMember('web-1', { revision: hashOf(7) }));
    expect(seen(fleet).card.revisions).toMatchObject([{ is: 'new' }, { hash: hashOf(7), is: 'other' }]);
  });

  const failure = { vm: 'web-1', message: 'no node fits', at: '2026-01-01T00:00:20Z' };
  const claim = { vm: 'web-1', by: 'pool/default/default/web/update/abc/1', at: '2026-01-01T00:00:00Z' };
  const restarting = aMember('web-1', { ready: false, changingState: true, notReadySince: NOW });

  test('shows a VM as failing while its rollout counts it as failed, though it is still being restarted', () => {
    const stateAfter = (failures: (typeof failure)[], rollout: object = {}, vm = restarting): string | undefined => {
      const fleet = aFleet();
      fleet.setOwner(
        POOL,
        undefined,
        aPoolWith({ status: { disruptedVMs: [claim] }, rollout: { failures, ...rollout } }),
      );
      add(fleet, vm, { ready: false, phase: 'Scheduling' });
      return seen(fleet).cells[0]?.[1];
    };
    expect(stateAfter([])).toBe('U');
    expect(stateAfter([failure])).toBe('F');
    const undoing = { kind: 'Undoing', by: 'drover', at: '2026-01-01T00:00:25Z' };
    expect(stateAfter([failure], { halted: undoing })).toBe('U');
    expect(stateAfter([failure], {}, { ...restarting, createdAt: NOW })).toBe('U');
    expect(stateAfter([failure], { completedAt: '2026-01-01T00:00:25Z' })).toBe('U');
  });

  test('tells who holds its budget, until when and for what', () => {
    const fleet = aFleet();
    const at = '2026-01-01T00:00:00Z';
    const disruptedVMs = [{ vm: 'web-2', by: 'pool/default/default/web/update/abc/1', at }];
    fleet.setOwner(POOL, undefined, aPoolWith({ spec: { maxUnavailable: 3 }, status: { disruptedVMs } }));
    add(fleet, aMember('web-1', { ready: false, notReadySince: 0 }), { ready: false });
    add(fleet, aMember('web-2'));
    const { card, cells } = seen(fleet);
    expect(card.budget).toEqual({
      maxUnavailable: '3',
      limit: 3,
      useCount: 2,
      uses: [
        { vm: 'web-2', what: 'the rollout', since: at, until: '2026-01-01T00:01:00.000Z' },
        { vm: 'web-1', what: 'it is not ready', since: '1970-01-01T00:00:00.000Z', until: null },
      ],
    });
    expect(cells).toContainEqual(['web-2', 'R', 1]);
  });

  test('says that a VM is migrated as long as the migration lasts', () => {
    const fleet = aFleet();
    fleet.setOwner(POOL, undefined, aPoolWith());
    add(fleet, aMember('web-1'));
    const migration = { namespace: 'default', name: 'm', vmiName: 'web-1', phase: 'Running', createdAt: 0 };
    fleet.setMigration('default/m', undefined, migration);
    expect(seen(fleet).cells).toEqual([['web-1', 'M', 1]]);
    fleet.setMigration('default/m', migration, null);
    expect(fleet.collect()?.cells).toEqual({ [WEB]: { set: [['web-1', 'R', 1]] } });
  });

  test('says once what it waits for and until when, and what has failed', () => {
    const windows = [{ cron: '0 2 * * *', duration: '4h' }];
    const message = 'it waits for a window';
    const stalled = { type: 'Stalled', status: 'True', reason: 'Failed', message: 'web-1: no node fits' } as const;
    const conditions = [
      stalled,
      { ...stalled, type: 'Degraded' },
      { type: 'Progressing', status: 'False', reason: 'Failed', message: stalled.message },
    ] as const;
    const waiting = cardOf({ spec: { rollout: { windows } }, progressing: ['WaitingForWindow', 'True', message] });
    expect(waiting).toMatchObject({
      rollout: { tone: 'warn', sentence: message, until: '2026-01-01T02:00:00.000Z' },
      conditions: [],
    });
    const failed = cardOf({ rollout: { failures: [failure] }, status: { conditions: [...conditions] } });
    expect(failed).toMatchObject({
      rollout: { sentence: stalled.message, failures: [{ vm: 'web-1', message: '' }] },
      conditions: [],
    });
  });

  test('disables what makes no sense, and what the user may not do, with the reason', () => {
    const fleet = aFleet();
    fleet.setOwner(POOL, undefined, aPoolWith());
    const { card } = seen(fleet);
    expect(whyNot(card, 'rollout.pause')).toBeNull();
    expect(whyNot(card, 'rollout.promote')).toBe('pool web has no spec.rollout.steps: nothing to promote');
    expect(card.actions.filter(({ isTyped }) => isTyped).map(({ name }) => name)).toEqual([
      'rollout.abort',
      'rollout.undo',
    ]);
    const limited = aFleet('you may not patch virtualmachinepools.drover.dev in default');
    limited.setOwner(POOL, undefined, aPoolWith());
    expect(new Set(seen(limited).card.actions.map((one) => one.whyNot)).size).toBe(1);
  });

  test('names the tool that owns its manifest', () => {
    const fleet = aFleet();
    const pool = aPoolWith();
    const labels = { 'kustomize.toolkit.fluxcd.io/name': 'shop' };
    fleet.setOwner(POOL, undefined, { ...pool, metadata: { ...pool.metadata, labels } });
    expect(seen(fleet).card.gitOps).toEqual({ tool: 'Flux', name: 'shop' });
  });
});

function needsOf(...pools: Parameters<typeof aPoolWith>[0][]) {
  const fleet = aFleet();
  pools.forEach((given, index) => fleet.setOwner(POOL, undefined, aPoolWith(given, `web-${index}`, `u${index}`)));
  return seen(fleet).viewer.needs.items;
}

function failingIn(spec: object, healing?: object) {
  const fleet = aFleet();
  fleet.setOwner(POOL, undefined, aPoolWith({ spec, status: { healing: { cycles: [], finished: [], ...healing } } }));
  add(fleet, aMember('web-1'));
  for (const name of ['web-2', 'web-3'])
    add(fleet, aMember(name, { state: 'ErrorUnschedulable', ready: false, notReadySince: NOW }), { ready: false });
  return seen(fleet).viewer.needs.items;
}

describe('what needs a person', () => {
  test('is nothing while a rollout continues by itself', () => expect(needsOf({})).toEqual([]));

  test('is first the rollout that waits for approval, with the command and the button that answer', () => {
    const waiting = {
      spec: { rollout: byApproval(1, 5) },
      rollout: { stepReachedAt: '2026-01-01T00:00:10Z' },
      progressing: ['WaitingForApproval', 'True', 'waits'] as [string, 'True', string],
    };
    const paused = { rollout: { paused: { by: 'ada', at: '2026-01-01T00:00:00Z', reason: 'lunch' } } };
    expect(needsOf(paused, waiting)).toMatchObject([
      {
        kind: 'rollout.waiting',
        sentence: 'the rollout of web-1 waits for approval at step 1 of 2',
        done: expect.stringMatching(/^\d+\/\d+ updated$/),
        since: '2026-01-01T00:00:10Z',
        command: 'drover rollout promote pool web-1 -n default',
        action: { name: 'rollout.promote', whyNot: null },
      },
      { kind: 'paused', sentence: 'web-0 is paused by ada: lunch', action: { name: 'rollout.resume' } },
    ]);
  });

  test('is a VM that was given up, and not one that was healed', () => {
    const finished = (['GivenUp', 'Healed'] as const).map((end) => ({
      vm: `web-0-${end.toLowerCase()}`,
      uid: 'x',
      attempts: 3,
      end,
      message: 'given up after 3 replacements: it never ran',
      at: '2026-01-01T00:00:00Z',
    }));
    const needs = needsOf({ spec: { autohealing: {} }, status: { healing: { cycles: [], finished } } });
    expect(needs).toMatchObject([
      {
        kind: 'vm.givenup',
        vm: 'web-0-givenup',
        sentence: 'healing of web-0: web-0-givenup: given up after 3 replacements: it never ran',
        action: { name: 'heal.now', whyNot: null },
      },
    ]);
  });

  test('is a VM that fails, unless healing is to replace it', () => {
    const told = {
      kind: 'vms-failing',
      sentence: expect.stringContaining('2 VMs of web fail (web-2, web-3)'),
      since: new Date(NOW).toISOString(),
      command: 'drover status pool web -n default',
    };
    expect(failingIn({})).toMatchObject([told]);
    expect(failingIn({ autohealing: {} })).toEqual([]);
    const left = { vm: 'web-2', message: 'it waits, and a new one would wait as well' };
    const inLine = { vm: 'web-3', message: 'its node does not answer', waitsFor: 'its node' };
    expect(failingIn({ autohealing: {} }, { notReplaced: [left, inLine] })).toMatchObject([
      { kind: 'vms-failing', sentence: expect.stringContaining('VM web-2 of web fails'), vm: 'web-2' },
    ]);
  });

  test('is a pool that no worker has looked at for half a minute', () => {
    let now = NOW;
    const fleet = aFleet(null, () => now);
    fleet.setOwner(POOL, undefined, aPoolWith({ generation: 3 }));
    const { viewer } = seen(fleet);
    expect(viewer.needs.items).toEqual([]);
    now += 30_000;
    fleet.tick();
    expect(viewer.delta(fleet.collect()).needs.items).toMatchObject([{ kind: 'no-worker', command: 'drover doctor' }]);
  });
});

const record = (number: number) => ({
  pool: 'u',
  record: { number, hash: hashOf(number), createdAt: '', requestedBy: null, changeCause: null },
});

test('an undo is disabled for a pool without another revision, as the command refuses it, and enabled once there is one', () => {
  const fleet = aFleet();
  const pool = aPoolWith();
  const template = revisionOf(poolTemplate(pool.spec));
  fleet.setOwner(POOL, undefined, pool);
  fleet.setRevision('default', undefined, { pool: 'u', record: { ...record(2).record, hash: template } });
  const { card, viewer } = seen(fleet);
  expect(whyNot(card, 'rollout.undo')).toBe('pool web has no other revision to go back to');
  fleet.setRevision('default', undefined, record(1));
  viewer.delta(fleet.collect());
  expect(whyNot(viewer.items.get(WEB) as OwnerCard, 'rollout.undo')).toBeNull();
});

const onN1 = (evacuationNode: string | null) => aVmi(aMember('web-1'), { node: 'n1', evacuationNode });
const n1 = (viewer: Viewer) => viewer.items.get('node/n1') as DrainCard | undefined;
const mayN1 = (viewer: Viewer) => n1(viewer)?.actions.map(({ name, whyNot: why }) => [name, why]);

test('a node with VMs may be drained, and one that VMs are to leave is counted and may be given back', () => {
  const fleet = aFleet();
  fleet.setVmi('default/web-1', undefined, onN1(null));
  const viewer = new Viewer().delta(fleet.collect());
  expect(n1(viewer)).toMatchObject({ remaining: 1, toEvacuate: 0, isDrained: false });
  expect(mayN1(viewer)).toEqual([
    ['drain.start', null],
    ['drain.cancel', 'node n1 is not cordoned, and no VM on it was asked to leave'],
  ]);
  const node = { name: 'n1', zone: null, ready: true, schedulable: false, taints: [CORDON_TAINT], machineTypes: [] };
  fleet.setNode('n1', { ...node, drainedSince: null });
  fleet.setVmi('default/web-1', onN1(null), onN1('n1'));
  viewer.delta(fleet.collect());
  expect(n1(viewer)).toMatchObject({ remaining: 1, toEvacuate: 1, isDrained: true });
  expect(mayN1(viewer)).toEqual([
    ['drain.start', 'node n1 is drained: all VMs on it were asked to leave'],
    ['drain.cancel', null],
  ]);
  fleet.setVmi('default/web-1', onN1('n1'), undefined);
  fleet.setNode('n1', { ...node, schedulable: true, taints: [], drainedSince: null });
  viewer.delta(fleet.collect());
  expect(n1(viewer)).toBeUndefined();
});

test('a fleet without workers says so first and once, since when nothing tells otherwise', () => {
  let now = NOW;
  const fleet = aFleet(null, () => now);
  fleet.setOwner(POOL, undefined, aPoolWith({ generation: 3 }));
  const viewer = new Viewer().delta(fleet.collect());
  fleet.setWorkers({ sentence: 'no worker polls', since: null });
  now += 30_000;
  fleet.tick();
  fleet.setWorkers({ sentence: 'no worker polls', since: null });
  expect(viewer.delta(fleet.collect()).needs.items).toMatchObject([
    { kind: 'no-worker', sentence: 'no worker polls', since: new Date(NOW).toISOString(), command: 'drover doctor' },
  ]);
  fleet.setWorkers(null);
  expect(viewer.delta(fleet.collect()).needs.items).toMatchObject([{ sentence: expect.stringContaining('web') }]);
});

test('a VM that healing has deleted, and is to make again, is known by its pool', () => {
  const fleet = aFleet();
  const cycle = { vm: 'web-1', uid: 'x', attempt: 1, phase: 'Waiting', message: 'it fails', startedAt: '' } as const;
  fleet.setOwner(POOL, undefined, aPoolWith({ status: { healing: { cycles: [cycle], finished: [] } } }));
  expect(fleet.cardOf('default/web-1')?.id).toBe(WEB);
  expect(fleet.cardOf('default/web-2')).toBeUndefined();
});

test('VMs that are in no pool or set have a card of their namespace', () => {
  const fleet = aFleet();
  const db = aMember('db', { owner: null, revision: null });
  add(fleet, db);
  const { viewer } = seen(fleet);
  expect(viewer.items.get('none/default')).toMatchObject({ kind: null, current: 1, ready: 1 });
  fleet.setVm('default/db', undefined);
  fleet.setVmi('default/db', aVmi(db), undefined);
  viewer.delta(fleet.collect());
  expect([...viewer.items.keys(), ...viewer.cells.keys()]).toEqual([]);
});

test('without a right to see VMIs, a VM is as it says itself', () => {
  const fleet = aFleet();
  fleet.setUnseenVmis('*', true);
  fleet.setOwner(POOL, undefined, aPoolWith());
  fleet.setVm('default/web-1', aMember('web-1'));
  fleet.setVm('default/web-2', aMember('web-2', { ready: false }));
  expect(seen(fleet).cells).toEqual([
    ['web-1', 'R', 1],
    ['web-2', 'D', 1],
  ]);
});

test('one changed VM of thousands changes one square', () => {
  const fleet = aFleet();
  fleet.setOwner(POOL, undefined, aPoolWith());
  for (let number = 1; number <= 3000; number++) add(fleet, aMember(`web-${number}`));
  fleet.collect();
  fleet.setVm('default/web-7', aMember('web-7', { deleting: true }));
  const delta = fleet.collect()!;
  expect(delta.cells).toEqual({ [WEB]: { set: [['web-7', 'T', 1]] } });
  expect(delta.cards?.set?.map(({ id }) => id)).toEqual([WEB]);
  expect(JSON.stringify(delta).length).toBeLessThan(5_000);
});

/** One thing that happens: a pool or a VM comes, changes or goes, or what has changed is sent. */
const anyEvent = fc.oneof(
  fc.record({ what: fc.constant('pool' as const), is: fc.constantFrom('none', 'a', 'b', 'c') }),
  fc.record({
    what: fc.constant('vm' as const),
    name: fc.constantFrom('web-1', 'web-2', 'web-3'),
    vm: fc.option(
      fc.record({
        owner: fc.constantFrom('a', 'b', null),
        ready: fc.boolean(),
        hasVmi: fc.boolean(),
        deleting: fc.boolean(),
        revision: fc.constantFrom(hashOf(1), hashOf(2), hashOf(3)),
        roleLabel: fc.constantFrom(null, 'Surge' as const, 'Standby' as const),
      }),
      { nil: undefined },
    ),
  }),
  fc.record({ what: fc.constant('send' as const) }),
);

// A pool `a` that rolls out, `b` of the same name that was made again, and `c`, which is `a` later on.
const poolOf = (is: string) => {
  const healing = {
    cycles: [{ vm: 'web-2', uid: 'x', attempt: 1, phase: 'Waiting' as const, message: '', startedAt: '' }],
    finished: [],
  };
  if (is === 'none') return undefined;
  if (is === 'b') return aPoolWith({ rollout: { paused: { by: 'ada', at: '2026-01-01T00:00:00Z' } } }, 'web', 'b');
  return aPoolWith(is === 'a' ? {} : { status: { currentRevision: hashOf(2), healing } }, 'web', 'a');
};

/** A pool comes, goes and comes again while the square of its VM is on the card of VMs without owners. */
const LOST_SQUARE: (typeof anyEvent extends fc.Arbitrary<infer Event> ? Event : never)[] = [
  {
    what: 'vm',
    name: 'web-1',
    vm: { owner: 'a', ready: false, hasVmi: false, deleting: false, revision: hashOf(1), roleLabel: null },
  },
  { what: 'send' },
  { what: 'pool', is: 'c' },
  { what: 'pool', is: 'none' },
  { what: 'pool', is: 'a' },
];

test('deltas lead to what all of the same fleet is, whatever happens in whatever order', () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 30 }), (events) => {
      const fleet = aFleet();
      const viewer = new Viewer();
      let pool: ReturnType<typeof poolOf>;
      const vms = new Map<string, VmView>();
      for (const event of events)
        if (event.what === 'send') viewer.delta(fleet.collect());
        else if (event.what === 'pool') {
          const next = poolOf(event.is);
          if (pool !== undefined || next !== undefined) fleet.setOwner(POOL, pool, next);
          pool = next;
        } else {
          const key = `default/${event.name}`;
          const before = vms.get(key);
          const owner = event.vm?.owner == null ? null : { kind: POOL, name: 'web', uid: event.vm.owner };
          const after = event.vm === undefined ? undefined : aMember(event.name, { ...event.vm, owner });
          fleet.setVm(key, after);
          fleet.setVmi(key, before && aVmi(before), after?.hasVmi === true ? aVmi(after) : undefined);
          if (after === undefined) vms.delete(key);
          else vms.set(key, after);
        }
      viewer.delta(fleet.collect());
      const again = new Viewer().delta(fleet.whole());
      expect(viewer.all()).toEqual(again.all());

      const anew = aFleet();
      if (pool !== undefined) anew.setOwner(POOL, undefined, pool);
      for (const vm of vms.values()) add(anew, vm);
      const fresh = new Viewer().delta(anew.collect());
      expect(statesOf(viewer)).toEqual(statesOf(fresh));
    }),
    { examples: [[LOST_SQUARE]] },
  );
});

/** Squares by the hash of their revisions: the order of revisions that no template has tells of the past. */
function statesOf(viewer: Viewer): unknown {
  return [...viewer.cells]
    .map(([card, cells]) => {
      const { revisions } = viewer.items.get(card) as OwnerCard;
      const told = [...cells.values()].map(([name, state, revision, role]) => [
        name,
        state,
        revisions[revision]?.hash,
        role,
      ]);
      return [card, told.toSorted((a, b) => String(a[0]).localeCompare(String(b[0])))];
    })
    .toSorted((a, b) => String(a[0]).localeCompare(String(b[0])));
}
