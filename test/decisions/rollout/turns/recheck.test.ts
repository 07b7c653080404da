import { describe, expect, test } from 'vitest';
import type { HealingStatus, OutdatedPods, PoolSpec, RolloutStatus } from '../../../../api/pool/pool.ts';
import {
  recheckMigration,
  recheckVm,
  type Recheck,
  type RecheckInput,
} from '../../../../decisions/rollout/turns/recheck.ts';
import { remainingToStep } from '../../../../decisions/rollout/turns/step.ts';
import type { VmView } from '../../../../decisions/views/vm.ts';
import type { VmiView } from '../../../../decisions/views/vmi.ts';
import { aPool, aVmi, BY_USER, SNAPSHOT } from '../../fixtures/fleets.ts';
import {
  aStep,
  at,
  DOWN,
  failure,
  fresh,
  HALTED,
  held,
  NEW,
  NEW_TEMPLATE,
  NOW,
  OLD,
  OLD_TEMPLATE,
  old,
  rolling,
} from '../../fixtures/rollout-pools.ts';

interface Fields extends Partial<Omit<RecheckInput, 'pool' | 'vm' | 'vmi'>> {
  vm?: VmView | null;
  /** Fields of the VMI of the VM that is taken; null: it has none. */
  vmi?: Partial<VmiView> | null;
  spec?: Partial<PoolSpec>;
  rolled?: Partial<RolloutStatus>;
  healing?: HealingStatus;
  deleted?: boolean;
}

/** Takes `web-1` of four. */
const take = (fields: Fields = {}): Recheck => recheckVm(inputOf(fields));

function inputOf(given: Fields): RecheckInput {
  const { vm = old(1), vmi = {}, spec = {}, rolled = {}, healing, deleted = false, ...fields } = given;
  const pool = aPool(
    { replicas: 4, template: NEW_TEMPLATE, maxUnavailable: 1, ...spec },
    deleted ? { deletionTimestamp: at(NOW) } : {},
  );
  const rollout = rolling({ inFlight: [1], ...rolled });
  return {
    item: held(old(1)),
    n: 1,
    revision: NEW,
    rollout: NEW,
    toStep: null,
    now: NOW,
    vm: vm ?? undefined,
    vmi: vm === null || vmi === null ? undefined : aVmi(vm, vmi),
    pool: { ...pool, status: { replicas: 4, currentRevision: OLD, rollout, ...(healing && { healing }) } },
    ...fields,
  };
}

const later = (why: string): Recheck => ({ need: 'deferred', until: null, message: why });
const restart = { need: 'act', writes: true, restarts: { revision: OLD }, disrupts: true };

describe('a VM of the revision is corrected', () => {
  const right = {
    item: { ...held(old(1)), from: NEW, setsRight: true as const },
    vm: fresh(1),
    vmi: { revision: NEW },
  };

  test('without a restart if its VMI runs the revision, and with one otherwise', () => {
    expect(take({ ...right, correction: 'Restart' })).toMatchObject({ need: 'act', writes: true, restarts: null });
    expect(take({ ...right, correction: 'Restart', vmi: { revision: null } })).toMatchObject({
      need: 'act',
      writes: true,
      restarts: { revision: null },
      disrupts: true,
    });
  });

  test('only if there still is something to correct', () => {
    expect(take({ ...right, correction: null })).toEqual({ need: 'nothing' });
    expect(take({ ...right, correction: 'Restart', spec: { paused: true } })).toEqual(later('spec.paused is true'));
  });

  test('later if that would now change its VMI, for which it has no claim', () => {
    const write = { ...right, item: { ...right.item, act: 'write' as const, runs: true as const } };
    expect(take({ ...write, correction: 'Live' })).toEqual(later('it has changed meanwhile'));
    expect(take({ ...write, correction: 'None' })).toMatchObject({ need: 'act', writes: true, disrupts: false });
  });
});

describe('the recheck of a VM', () => {
  test('lets it be written to and restarted', () => {
    expect(take()).toMatchObject(restart);
  });

  test('lets it only restart if its spec was already written before a worker died', () => {
    expect(take({ vm: fresh(1), vmi: { revision: OLD } })).toMatchObject({ ...restart, writes: false });
  });

  test('lets nothing be done if all is done', () => {
    expect(take({ vm: fresh(1) })).toEqual({ need: 'nothing' });
    expect(take({ vm: fresh(1), vmi: { revision: OLD, deleting: true } })).toEqual({ need: 'nothing' });
    expect(take({ vm: fresh(1), vmi: null })).toEqual({ need: 'nothing' });
    // KubeVirt is migrating the VM for the change that was written before.
    expect(
      take({
        item: held(old(1), 'live'),
        vm: fresh(1),
        vmi: { revision: OLD, migration: { name: 'm', phase: 'Running', createdAt: 0 } },
      }),
    ).toEqual({
      need: 'nothing',
    });
  });

  test('lets its VMI be labelled if that is all that is left', () => {
    expect(take({ item: held(old(1), 'write'), vm: fresh(1), vmi: { revision: OLD } })).toEqual({
      need: 'act',
      writes: false,
      restarts: null,
      disrupts: false,
    });
  });

  test('lets it only be written to if nothing runs', () => {
    const written = { need: 'act', writes: true, restarts: null, disrupts: false };
    expect(take({ vmi: null })).toEqual(written);
    expect(take({ vmi: { deleting: true } })).toEqual(written);
    expect(take({ vm: old(1, HALTED), vmi: null })).toEqual(written);
    expect(take({ vm: old(1, { runStrategy: 'Halted' }) })).toEqual(written);
    expect(take({ item: held(old(1), 'write'), vmi: null })).toEqual(written);
  });

  test('lets it only be written to if its VMI ran in the plan; a VM that runs only by now might be stopped or changed', () => {
    const written = { need: 'act', writes: true, restarts: null, disrupts: false };
    expect(take({ item: held(old(1), 'write', { runs: true }) })).toEqual(written);
    expect(take({ item: held(old(1), 'write') })).toEqual(later('it now runs'));
    // Its owner has stopped it meanwhile, and the VMI is ending by itself.
    expect(take({ item: held(old(1), 'write'), vm: old(1, { runStrategy: 'Halted' }) })).toEqual(written);
    expect(take({ item: held(old(1), 'write'), spec: { updateStrategy: { opportunistic: {} } } })).toEqual(
      later('it now runs'),
    );
  });

  test('requires a claim for a live change or a replacement', () => {
    expect(take({ item: held(old(1), 'live') })).toEqual({ need: 'act', writes: true, restarts: null, disrupts: true });
    expect(take({ item: held(old(1), 'replace') })).toEqual({
      need: 'act',
      writes: true,
      restarts: null,
      disrupts: true,
    });
  });

  test('requires a claim for a VM that is stopped by its new run strategy too', () => {
    const vm = old(1);
    expect(take({ vm, vmi: { revision: NEW } })).toEqual({
      need: 'act',
      writes: true,
      restarts: null,
      disrupts: true,
    });
  });
});

describe('the VM has changed since the plan', () => {
  test.each<[string, Fields]>([
    ['deleted', { vm: null }],
    ['going', { vm: old(1, { deleting: true }) }],
    ['recreated', { vm: old(1, { uid: 'another' }) }],
    ['let go', { vm: old(1, { owner: null }) }],
    ['in another pool', { vm: old(1, { owner: { kind: 'VirtualMachinePool', name: 'web', uid: 'another' } }) }],
  ])('%s', (_what, fields) => {
    expect(take(fields)).toEqual({ need: 'gone' });
  });

  test.each<[string, Partial<VmView>, Partial<VmiView>, string]>([
    ['its owner asked meanwhile', { optedOut: true }, {}, 'its owner opted out of disruption'],
    ['a snapshot was begun meanwhile', { operations: SNAPSHOT }, {}, 'a snapshot of it (nightly) is taken'],
    ['it was paused meanwhile', {}, { pause: BY_USER }, 'it is paused by a user'],
    ['it has begun to migrate', {}, { migration: { name: 'm', phase: 'Running', createdAt: 0 } }, 'it migrates (m)'],
  ])('%s', (_what, fields, vmi, why) => {
    expect(take({ vm: old(1, fields), vmi })).toEqual(later(why));
  });
});

const healed = (uid: string): HealingStatus => ({
  cycles: [{ vm: 'web-1', uid, attempt: 1, phase: 'Removing', message: 'it is not ready', startedAt: at(NOW) }],
  finished: [],
});

test('leaves a VM to its healing, which has begun since the plan', () => {
  const { uid } = old(1);
  expect(take({ healing: healed(uid) })).toEqual(later('it is being healed'));
  expect(take({ healing: healed(uid), vm: fresh(1), vmi: { revision: OLD } })).toEqual(later('it is being healed'));
  expect(take({ healing: healed('the one before') })).toMatchObject(restart);
});

test('leaves a VM of a newer revision to the batch of that revision', () => {
  const newer = old(1, { revision: 'newer' });
  expect(take({ vm: newer })).toEqual(later('its spec now has revision newer'));
  expect(take({ vm: newer, vmi: null })).toEqual(later('its spec now has revision newer'));
  expect(take({ vm: old(1, { revision: null }) })).toEqual(later('its spec now has revision unknown'));
  expect(take({ item: held(newer, 'restart', { from: 'newer' }), vm: newer })).toMatchObject({
    need: 'act',
    writes: true,
  });
});

const ended = <Kind extends string>(kind: Kind) => ({ kind, by: 'drover', at: at(NOW) });

describe('the rollout has changed since the plan', () => {
  test.each<[string, Fields, string | null]>([
    ['the pool goes', { deleted: true }, 'its pool is being deleted'],
    ['spec.paused', { spec: { paused: true } }, 'spec.paused is true'],
    ['a newer template', { spec: { template: OLD_TEMPLATE } }, 'the template has changed'],
    [
      'no window is open any more',
      { spec: { rollout: { windows: [{ cron: '0 2 * * *', duration: '1h' }] } } },
      'the next window opens at 2026-01-02T02:00:00.000Z',
    ],
    ['another batch is in flight', { rolled: { inFlight: [2] } }, 'the status of its pool no longer names it'],
    ['paused', { rolled: { paused: { by: 'anna', at: at(NOW) } } }, 'paused by anna'],
    [
      'paused by a signal',
      { rolled: { paused: { by: 'anna', at: at(NOW), bySignal: true } } },
      'paused by anna (a signal)',
    ],
    ['aborted', { rolled: { halted: ended('Aborted') } }, 'the rollout has ended: Aborted'],
    ['failed', { rolled: { halted: ended('Failed') } }, 'the rollout has ended: Failed'],
    ['undone', { rolled: { halted: ended('Undoing') } }, 'the rollout is being undone'],
    ['an older one was aborted', { rolled: { revision: OLD, halted: ended('Aborted') } }, null],
  ])('%s', (_what, fields, why) => {
    if (why === null) expect(take(fields)).toMatchObject(restart);
    else expect(take(fields)).toEqual(later(why));
  });

  test('lets an undo continue until it is stopped itself', () => {
    const back = {
      item: held(fresh(1), 'restart', { from: NEW }),
      revision: OLD,
      rollout: NEW,
      vm: fresh(1),
      vmi: { revision: NEW },
    };
    const undoing = (kind: 'Undoing' | 'UndoFailed'): Recheck => take({ ...back, rolled: { halted: ended(kind) } });
    expect(undoing('Undoing')).toMatchObject({ need: 'act' });
    expect(take(back)).toEqual(later('the rollout is not being undone'));
    expect(undoing('UndoFailed')).toEqual(later('the rollout has ended: UndoFailed'));
    expect(take({ ...back, spec: { template: OLD_TEMPLATE } })).toEqual(later('the template has changed'));
  });
});

test('gives a replica the revision only if the step in the status has room', () => {
  const isFull = later('the status of its pool does not say that the step of the rollout is passed');
  expect(take({ toStep: 1 })).toMatchObject(restart);
  expect(take({ toStep: 0 })).toEqual(isFull);
  expect(take({ toStep: 0, vm: old(1, { role: 'Standby' }) })).toMatchObject({ need: 'act' });
  expect(take({ toStep: 0, vm: fresh(1), vmi: { revision: OLD } })).toMatchObject({ need: 'act', writes: false });
});

describe('the number of replicas that may get the revision before the next step', () => {
  const steps = [aStep(1), aStep(3)];
  const room = (
    rolled: Partial<RolloutStatus>,
    { vms = [fresh(1), old(2), old(3)], status = {}, onTheirWay = [] as string[] } = {},
  ) =>
    remainingToStep({
      ...inputOf({ spec: { rollout: { steps } }, rolled }),
      pool: {
        ...inputOf({ spec: { rollout: { steps } }, rolled }).pool!,
        status: { replicas: 4, currentRevision: OLD, rollout: rolling(rolled), ...status },
      },
      vms: () => vms,
      vmiOf: (vm) => aVmi(vm),
      onTheirWay: new Set(onTheirWay),
    });

  test.each<[string, number | null, ReturnType<typeof room>]>([
    ['none, if as many have it', 0, room({})],
    ['as many as the step that is on record has', 2, room({ step: 1 })],
    ['any after the last', null, room({ step: 2 })],
    ['any, if all VMs had the revision last', null, room({}, { status: { currentRevision: NEW } })],
    ['those of the first step, if the status tells of an older rollout', 0, room({ revision: 'older', step: 2 })],
    ['less those that are about to get it', 1, room({ step: 1 }, { onTheirWay: ['web-2'] })],
    [
      'and others for those that have failed',
      1,
      room({ failures: [failure('web-1')] }, { vms: [fresh(1, DOWN), old(2)] }),
    ],
  ])('%s', (_what, expected, found) => {
    expect(found).toBe(expected);
  });
});

describe('a VMI that is to restart for what it has read', () => {
  const it = held(fresh(1), 'restart', { from: NEW, vmi: 'the old one' });
  const asked = { rollout: { onConfigChange: 'Restart' } } as const;
  const taken = (uid: string, spec: Partial<PoolSpec> = asked): Recheck =>
    take({ item: it, vm: fresh(1), vmi: { uid }, spec });

  test('restarts, and is known by its UID: any other VMI has restarted since', () => {
    expect(taken('the old one')).toMatchObject({ need: 'act', writes: false, restarts: { uid: 'the old one' } });
    expect(taken('a new one')).toEqual({ need: 'nothing' });
  });

  test('is left alone if its pool no longer asks for that', () => {
    expect(taken('the old one', {})).toEqual(later('its pool does not restart VMs for changed content'));
  });
});

const evacuation = (attempt: number) => ({
  attempt,
  state: 'Failed' as const,
  ended: 1,
  failures: 1,
  since: null,
  begunAt: null,
  endedAt: null,
  whyFailed: null,
});

describe('a VMI that is to get a new pod by a migration', () => {
  const migration = { vmi: 'uid-of-vmi', attempt: 2 };
  const spec: Partial<PoolSpec> = { updateStrategy: { proactive: { outdatedPods: 'Migrate' } } };
  const vmi = { uid: migration.vmi, revision: NEW, evacuation: evacuation(1) };
  const moved = (fields: Fields = {}) =>
    recheckMigration(
      inputOf({
        item: held(old(1), 'migrate', { from: NEW, migration }),
        vm: fresh(1),
        spec,
        ...fields,
        vmi: { ...vmi, ...fields.vmi },
      }),
    );

  test('is migrated', () => expect(moved()).toMatchObject({ need: 'act', vmi: { uid: migration.vmi } }));

  test.each<[string, Fields, object]>([
    ['whose VM has left', { vm: null }, { need: 'gone' }],
    ['whose VM is another', { vm: fresh(1, { uid: 'another' }) }, { need: 'gone' }],
    ['that has started since', { vmi: { uid: 'another' } }, { need: 'nothing' }],
    ['that its batch has migrated, in vain', { vmi: { evacuation: evacuation(2) } }, { need: 'nothing' }],
    ['whose VM is stopped', { vm: fresh(1, HALTED) }, { need: 'nothing' }],
    [
      'whose migrations were forgotten',
      { vmi: { evacuation: null } },
      later('its earlier migrations are no longer known'),
    ],
    ['whose VM has another spec by now', { vm: old(1) }, later(`its spec now has revision ${OLD}`)],
    ['whose pool is paused', { spec: { ...spec, paused: true } }, later('spec.paused is true')],
    ['that migrates', { vmi: { migration: { name: 'm', phase: 'Running', createdAt: 0 } } }, later('it migrates (m)')],
  ])('is left alone: %s', (_title, fields, expected) => expect(moved(fields)).toEqual(expected));
});

test('a VMI of the revision restarts for its pod only if the pool restarts VMs for that', () => {
  const forPod = {
    item: held(old(1), 'restart', { from: NEW, vmi: 'uid-of-vmi' }),
    vm: fresh(1),
    vmi: { uid: 'uid-of-vmi', revision: NEW },
  };
  const under = (outdatedPods: OutdatedPods) =>
    take({ ...forPod, spec: { updateStrategy: { proactive: { outdatedPods } } } });
  expect([under('Restart'), under('MigrateOrRestart')]).toMatchObject([{ need: 'act' }, { need: 'act' }]);
  const why = 'its pool does not restart VMs for changed content';
  expect([under('Report'), under('Migrate')]).toEqual([later(why), later(why)]);
});
