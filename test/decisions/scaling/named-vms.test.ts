import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { REMOVE_VMS_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { PoolSpec, ScaleInStrategy } from '../../../api/pool/pool.ts';
import { isActive } from '../../../decisions/health/availability.ts';
import { changeAnnotation } from '../../../decisions/membership/change.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { planPool, type PoolPlan } from '../../../decisions/pool/plan.ts';
import { MAX_NAMED, namedRemovals, namesText } from '../../../decisions/views/annotations/named-vms.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { aFailure, failed } from '../fixtures/backoffs.ts';
import { anyFleet, aPool, aVm, quiet } from '../fixtures/fleets.ts';

const textOf = (vms: readonly VmView[], keep: boolean): string =>
  namesText(new Map(vms.map(({ name, uid }) => [name, { uid, keep }]))) ?? '{}';
/** A pool of which these VMs are to be removed by name. */
const without = (named: readonly VmView[], spec: Partial<PoolSpec> = {}, metadata: Parameters<typeof aPool>[1] = {}) =>
  aPool(spec, { annotations: { [REMOVE_VMS_ANNOTATION]: textOf(named, false) }, ...metadata });
/** The same of VMs that are to be kept. */
const detaching = (named: readonly VmView[], spec: Partial<PoolSpec> = {}) =>
  aPool(spec, { annotations: { [REMOVE_VMS_ANNOTATION]: textOf(named, true) } });
const plan = (pool: PoolPlanInput['pool'], vms: readonly VmView[], input: Partial<PoolPlanInput> = {}): PoolPlan =>
  planPool({ ...quiet, pool, vms, burst: 250, ...input });
const leaving = ({ steps }: PoolPlan): string[] =>
  steps.flatMap((step) => (step.kind === 'delete' || step.kind === 'halt' ? step.vms.map(({ name }) => name) : []));
const three = [aVm('web-1'), aVm('web-2'), aVm('web-3')] as const;

describe('a VM that is to be removed by name', () => {
  test('leaves, and no other in its place', () => {
    const planned = plan(without([three[1]], { replicas: 2 }), three);
    expect(planned.steps).toMatchObject([
      {
        kind: 'delete',
        because: 'Named',
        keepDisks: false,
        vms: [{ name: 'web-2', uid: 'uid-of-web-2' }],
        reason: 'delete web-2: its removal was requested by name',
      },
    ]);
    expect(planned.phase).toBe('ScalingIn');
  });

  test.each<[string, Partial<PoolSpec>, Partial<VmView>]>([
    ['unmanaged scale-in', { scaleInStrategy: { unmanaged: {} } }, {}],
    ['opportunistic scale-in, though it runs', { scaleInStrategy: { opportunistic: {} } }, {}],
    ['protection that came later', {}, { protected: true }],
    ['a pool that has grown back', { replicas: 3 }, {}],
    ['a pause', { paused: true }, {}],
    ['its owner, who asks that nothing disrupts it', {}, { optedOut: true }],
  ])('is not held back by %s', (_what, spec, fields) => {
    const named = aVm('web-2', fields);
    expect(leaving(plan(without([named], { replicas: 2, ...spec }), [three[0], named, three[2]]))).toEqual(['web-2']);
  });

  test('leaves with other surplus VMs without being counted twice', () => {
    expect(leaving(plan(without([three[1]], { replicas: 1 }), three))).toHaveLength(2);
    const orderOfAge = { proactive: { selectionPolicy: { basePolicy: 'Oldest' } } } as const;
    const vms = three.map((vm, index) => ({ ...vm, createdAt: index }));
    const pool = without([vms[2]!], { replicas: 1, scaleInStrategy: orderOfAge });
    expect(leaving(plan(pool, vms))).toEqual(['web-3', 'web-1']);
  });

  test('leaves its disks if the pool keeps them: it is halted first', () => {
    const scaleInStrategy = { proactive: { statePreservation: 'Offline' } } as const;
    const pool = without([three[1]], { replicas: 2, scaleInStrategy });
    expect(plan(pool, three).steps).toMatchObject([{ kind: 'halt', because: 'Named', vms: [{ name: 'web-2' }] }]);
    const stopped = aVm('web-2', { runStrategy: 'Halted', hasVmi: false, ready: false });
    expect(plan(pool, [three[0], stopped, three[2]]).steps).toMatchObject([
      { kind: 'delete', because: 'Named', keepDisks: true },
    ]);
  });

  test('is identified by its UID: another VM of its name stays, and the name is removed from the list', () => {
    const other = aVm('web-2', { uid: 'another' });
    expect(plan(without([three[1]], { replicas: 3 }), [three[0], other, three[2]]).steps).toEqual([
      {
        kind: 'clearNamedRemovals',
        vms: [{ name: 'web-2', uid: 'uid-of-web-2' }],
        reason: 'take web-2 from the list of VMs to remove: the pool no longer has them',
      },
    ]);
  });

  test('stays on the list until it is gone, and its place is filled only then', () => {
    const going = aVm('web-2', { deleting: true });
    const pool = without([going], { replicas: 3 });
    expect(plan(pool, [three[0], going, three[2]]).steps).toEqual([]);
    expect(plan(pool, [three[0], three[2]]).steps.map(({ kind }) => kind)).toEqual(['clearNamedRemovals', 'create']);
    expect(plan(pool, three, { inProgress: { creating: [], deleting: ['web-2'] } }).steps).toEqual([]);
  });

  test('is not tried before its time after a refusal, and the failure stands until it is gone', () => {
    const backoffs = failed('FailedDelete', { refused: { names: ['web-2'], isDelayed: true } });
    const planned = plan(without([three[1]], { replicas: 3 }), three, { backoffs });
    expect(planned).toMatchObject({ steps: [], failures: [aFailure('FailedDelete')] });
  });

  test('is neither healed nor updated any more, and a cycle that heals it ends', () => {
    const sick = aVm('web-2', { ready: false, state: 'CrashLoopBackOff', startFailures: 9, revision: 'old' });
    const vms = [three[0], sick, three[2]];
    const pool = without([sick], { replicas: 2, autohealing: {} });
    const planned = plan(pool, vms, { backoffs: failed('FailedDelete', { allowance: 0 }) });
    expect(planned.healing.begin).toEqual([]);
    expect(planned.steps.filter(({ kind }) => kind !== 'annotateRuns')).toEqual([]);
    const healing = plan(aPool({ replicas: 3, autohealing: {} }), vms).healing.state;
    expect(healing.cycles).toMatchObject([{ vm: 'web-2' }]);
    const ended = plan(pool, vms, { healing });
    expect(ended.healing.state).toMatchObject({ cycles: [], finished: [{ vm: 'web-2', end: 'Left' }] });
    expect(leaving(ended)).toEqual(['web-2']);
  });

  test.each<[string, ScaleInStrategy]>([
    ['unmanaged', { unmanaged: {} }],
    ['proactive', { proactive: {} }],
  ])('does not come back if healing has deleted it already, under %s scale-in', (_kind, scaleInStrategy) => {
    const cycle = { vm: 'web-2', uid: 'uid-of-web-2', attempt: 1, phase: 'Provisioning', message: 'sick' } as const;
    const run = { state: 'Ended', outcome: { end: 'Removed', keptDisks: false, nextAt: '' } } as const;
    const startedAt = new Date(quiet.now).toISOString();
    const empty = plan(aPool({ autohealing: {} }), three).healing.state;
    const healing = { ...empty, cycles: [{ ...cycle, startedAt, run }] };
    const pool = without([three[1]], { replicas: 2, autohealing: {}, scaleInStrategy });
    const planned = plan(pool, [three[0], three[2]], { healing });
    expect(planned.healing.state.cycles).toEqual([]);
    expect(planned.steps.filter(({ kind }) => kind === 'create')).toEqual([]);
  });

  test('makes no surplus of a VM that is being replaced meanwhile', () => {
    const cycle = { vm: 'web-3', uid: 'gone', attempt: 1, phase: 'Waiting', message: 'sick' } as const;
    const run = { state: 'Running', since: quiet.now } as const;
    const startedAt = new Date(quiet.now).toISOString();
    const empty = plan(aPool({ autohealing: {} }), three).healing.state;
    const healing = { ...empty, cycles: [{ ...cycle, startedAt, run }] };
    const planned = plan(without([three[1]], { replicas: 2, autohealing: {} }), three.slice(0, 2), { healing });
    expect(planned.healing.state.cycles).toMatchObject([{ vm: 'web-3' }]);
  });

  test('leaves with its pool like any other', () => {
    const pool = without([three[1]], {}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    expect(plan(pool, three).steps).toMatchObject([{ kind: 'delete', because: 'OwnerDeleted' }]);
  });
});

describe('a VM that is to be detached', () => {
  const release = { kind: 'release', because: 'Named', vms: [{ name: 'web-2', uid: 'uid-of-web-2' }] };

  test('is let go of, whatever the strategy, and no other leaves in its place', () => {
    for (const scaleInStrategy of [
      { unmanaged: {} },
      { proactive: { statePreservation: 'Offline' } },
    ] as const satisfies ScaleInStrategy[])
      expect(plan(detaching([three[1]], { replicas: 2, scaleInStrategy }), three).steps).toMatchObject([
        { ...release, reason: 'detach web-2: its removal was requested by name' },
      ]);
  });

  test('has its place filled only once it has left', () => {
    expect(plan(detaching([three[1]], { replicas: 3 }), three).steps).toMatchObject([release]);
    const left = plan(detaching([three[1]], { replicas: 3 }), [three[0], three[2]]).steps;
    expect(left.map(({ kind }) => kind)).toEqual(['clearNamedRemovals', 'create']);
  });

  test('leaves beside VMs that are to be deleted by name, each as it was named', () => {
    const text = JSON.stringify({ 'web-1': 'uid-of-web-1', 'web-2': { uid: 'uid-of-web-2', keep: true } });
    const pool = aPool({ replicas: 1 }, { annotations: { [REMOVE_VMS_ANNOTATION]: text } });
    expect(plan(pool, three).steps).toMatchObject([
      release,
      { kind: 'delete', because: 'Named', vms: [{ name: 'web-1' }] },
    ]);
  });

  test('stays while the pool is being taken over, and waits for its time after a refusal', () => {
    const held = detaching([three[1]], { replicas: 3 });
    const { annotations } = held.metadata;
    const change = changeAnnotation({ kind: 'takeover', by: 'ada', at: new Date(quiet.now).toISOString() });
    const metadata = { ...held.metadata, annotations: { ...annotations, ...change } };
    expect(plan({ ...held, metadata }, three).steps).toEqual([]);
    const backoffs = failed('FailedRelease', { refused: { names: ['web-2'], isDelayed: true } });
    expect(plan(held, three, { backoffs })).toMatchObject({ steps: [], failures: [aFailure('FailedRelease')] });
  });
});

test('all named VMs leave any pool, and of the others only those that are surplus without them', () => {
  const anyStrategy = fc.constantFrom<ScaleInStrategy>(
    { unmanaged: {} },
    { opportunistic: {} },
    { proactive: {} },
    { proactive: { statePreservation: 'Offline' } },
  );
  fc.assert(
    fc.property(
      anyFleet,
      fc.infiniteStream(fc.boolean()),
      anyStrategy,
      fc.nat(12),
      (fleet, picks, strategy, replicas) => {
        const all = fleet.filter(isActive);
        const named = all.filter(() => picks.next().value as boolean);
        const gone = new Set(leaving(plan(without(named, { replicas, scaleInStrategy: strategy }), all)));
        expect(named.filter(({ name }) => !gone.has(name))).toEqual([]);
        const others = all.filter((vm) => !named.includes(vm));
        const left = others.filter(({ name }) => gone.has(name));
        expect(left.length).toBeLessThanOrEqual(Math.max(others.length - replicas, 0));
      },
    ),
  );
});

const unread = (text: string) => aPool({ replicas: 1 }, { annotations: { [REMOVE_VMS_ANNOTATION]: text } });

describe('the text of the annotation', () => {
  test.each([
    ['web-7,web-9', 'it must be a JSON object with the UID of each VM by its name'],
    ['["web-7"]', 'it must be a JSON object with the UID of each VM by its name'],
    ['{"web-7": true}', 'each VM must be given by its name and its UID'],
    ['{"web-7": ""}', 'each VM must be given by its name and its UID'],
    ['{"web-7": {"uid": "u"}}', 'each VM must be given by its name and its UID'],
    ['{"web-7": {"uid": "u", "keep": "true"}}', 'each VM must be given by its name and its UID'],
    [
      JSON.stringify(Object.fromEntries(Array.from({ length: MAX_NAMED + 1 }, (_, n) => [`web-${n}`, 'u']))),
      'it names 501 VMs, and may name 500',
    ],
  ])('%.20s… holds all scale-in back, and is reported', (text, why) => {
    const planned = plan(unread(text), three);
    expect(planned.steps).toEqual([]);
    expect(planned.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'ScaleInBlocked',
        status: 'True',
        reason: 'InvalidRemoveAnnotation',
        message: `the annotation drover.dev/remove-vms can't be read, and no VM leaves by scale-in until it is corrected or removed: ${why}`,
      }),
    );
  });

  test('is read as it was written, or not at all', () => {
    const anyVm = fc.record({ uid: fc.uuid(), keep: fc.boolean() });
    const anyVms = fc.dictionary(fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/), anyVm, { maxKeys: 20 });
    fc.assert(
      fc.property(anyVms, (named) => {
        const vms = new Map(Object.entries(named).map(([name, { uid, keep }]) => [name, { uid, keep }]));
        const text = namesText(vms);
        const annotations = text === null ? {} : { [REMOVE_VMS_ANNOTATION]: text };
        expect(namedRemovals(annotations)).toEqual({ vms, fault: null });
      }),
    );
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const { vms, fault } = namedRemovals({ [REMOVE_VMS_ANNOTATION]: text });
        expect(fault === null || vms.size === 0).toBe(true);
      }),
    );
  });
});
