import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ADOPT_VMS_ANNOTATION,
  MEMBERSHIP_CHANGE_ANNOTATION,
  MEMBERSHIP_REQUEST_ANNOTATION,
  REMOVE_VMS_ANNOTATION,
} from '../../../api/labels-and-annotations.ts';
import type { PoolSpec, RolloutStatus } from '../../../api/pool/pool.ts';
import { noHealing, type Cycle } from '../../../decisions/healing/state.ts';
import type { Batch, UpdateAct } from '../../../decisions/owners/batch.ts';
import type { Backoff } from '../../../decisions/owners/failures.ts';
import { requestText } from '../../../decisions/owners/request.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import { newRolloutState } from '../../../decisions/rollout/state/state.ts';
import type { DiskTemplate } from '../../../decisions/template/disk-template.ts';
import type { KeptClaim } from '../../../decisions/template/kept-disk.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import type { Evacuation } from '../../../decisions/views/evacuation.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { isRegular, type VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aPool, aVm, aVmi, quiet, REVISION, vmiOf } from '../fixtures/fleets.ts';
import { aKeptDisk } from '../fixtures/kept-disks.ts';
import { aBatch, held, NEW } from '../fixtures/rollout-pools.ts';

const disk = (storage: string): DiskTemplate => ({
  metadata: { name: 'data' },
  spec: { source: { blank: {} }, storage: { resources: { requests: { storage } } } },
});
const template = {
  spec: {
    runStrategy: 'Always',
    dataVolumeTemplates: [disk('1Gi')],
    template: { spec: { domain: {}, volumes: [{ name: 'data', dataVolume: { name: 'data' } }] } },
  },
} as unknown as PoolSpec['template'];
const revision = revisionOf(template);

const aKept: fc.Arbitrary<KeptClaim> = fc
  .record({
    number: fc.integer({ min: 1, max: 6 }),
    deleting: fc.boolean(),
    revision: fc.constantFrom(revision, 'forgotten', null),
    template: fc.constantFrom(disk('1Gi'), disk('2Gi'), null),
    keptBy: fc.constantFrom('scale-in' as const, 'healing' as const),
  })
  .map(({ number, deleting, ...more }) => ({
    namespace: 'shop',
    name: `data-${number}`,
    uid: `claim-${number}`,
    resourceVersion: '1',
    isOfState: false,
    deleting,
    kept: aKeptDisk({ number, disk: 'data', ...more }),
  }));

const aBackoff: fc.Arbitrary<Backoff> = fc
  .record({
    names: fc.subarray(['web-1', 'web-2', 'web-3', 'web-4']),
    isDelayed: fc.boolean(),
    isGeneral: fc.boolean(),
  })
  .map((refused) => ({
    failure: { reason: 'FailedCreate', message: 'refused', since: '2026-01-01T00:00:00Z' },
    allowance: refused.isGeneral ? Number(!refused.isDelayed) : null,
    refused,
  }));

test('a pool that lacks VMs has a step for them, says why it has none, or wakes by itself', () => {
  fc.assert(
    fc.property(
      fc.record({
        replicas: fc.integer({ min: 0, max: 6 }),
        there: fc.subarray([1, 2, 3, 4, 5, 6]),
        going: fc.subarray([1, 2, 3, 4, 5, 6]),
        creating: fc.subarray(['web-1', 'web-5']),
        standby: fc.integer({ min: 0, max: 2 }),
        kept: fc.uniqueArray(aKept, { selector: ({ name }) => name }),
        statePreservation: fc.constantFrom('Offline' as const, 'Disabled' as const),
        backoff: fc.option(aBackoff),
      }),
      ({ replicas, there, going, creating, standby, kept, statePreservation, backoff }) => {
        const vms = there.map((number) =>
          aVm(`web-${number}`, { revision, deleting: going.includes(number), disks: [`data-${number}`] }),
        );
        const pool = aPool({
          replicas,
          template,
          standby: { replicas: standby },
          scaleInStrategy: { proactive: { statePreservation } },
        });
        const begun = creating.filter((name) => !vms.some((vm) => vm.name === name));
        const {
          steps,
          failures,
          requeueAt: wakeAt,
        } = planPool({
          ...quiet,
          pool,
          vms,
          keptClaims: kept,
          inProgress: { creating: begun, deleting: [] },
          revisions: [{ name: 'web-now', revision, number: 1, template }],
          burst: 250,
          backoffs: backoff === null ? {} : { FailedCreate: backoff },
        });
        // One that is terminating keeps its place until it is gone.
        const present = vms.filter(isRegular).length;
        const isMoving = steps.length > 0 || failures.length > 0 || wakeAt !== null || begun.length > 0;
        expect(present >= replicas || isMoving).toBe(true);
        // A kept disk stands in the way of its own number alone.
        const created = steps.flatMap((step) =>
          step.kind === 'create' && step.role === undefined ? step.numbers : [],
        );
        const waiting = steps.flatMap((step) =>
          step.kind === 'deleteKeptDisks' ? step.claims.map(({ vm }) => vm) : [],
        );
        if (backoff === null)
          expect(present + begun.length + created.length + new Set(waiting).size).toBeGreaterThanOrEqual(replicas);
      },
    ),
    { numRuns: 500 },
  );
});

const NOW = Date.parse('2026-06-01T12:00:00Z');
const ago = (ms: number): string => new Date(NOW - ms).toISOString();
const aCycle = (phase: Cycle['phase'], run: Cycle['run']): Cycle => ({
  vm: 'web-3',
  uid: 'uid-of-web-3',
  attempt: 1,
  phase,
  message: 'it fails',
  startedAt: ago(60_000),
  nextAt: ago(1_000),
  run,
});
const others = [1, 2].map((number) => aVm(`web-${number}`, { notYetRun: null }));
const leaving = { runStrategy: 'Halted', hasVmi: false, notYetRun: null, leavingSince: NOW - 1_000 };
const removed = { state: 'Ended', outcome: { end: 'Removed', keptDisks: false, nextAt: ago(1_000) } } as const;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A VM whose node is drained, and its migration off it. */
const evacuating = (evacuation: Partial<Evacuation>, fields: Partial<VmiView> = {}): Waited => ({
  vm: aVm('web-3', { notYetRun: null }),
  vmi: {
    evictionStrategy: 'External',
    evacuationNode: 'node-1',
    nodeDrained: true,
    evacuation: {
      attempt: 1,
      state: 'Failed',
      ended: 1,
      failures: 1,
      since: NOW - HOUR_MS,
      begunAt: NOW - HOUR_MS,
      endedAt: NOW - 5 * MINUTE_MS,
      whyFailed: 'no node',
      ...evacuation,
    },
    ...fields,
  },
  due: 'evacuate',
});
const notBegun: VmiView['migration'] = { name: 'm-1', phase: 'Pending', createdAt: NOW - HOUR_MS };

const batchOf = (act: UpdateAct, fields: Partial<Batch> = {}): Batch =>
  aBatch([held(aVm('web-3'), act)], { revision: REVISION, rollout: REVISION, startedAt: NOW - 9 * HOUR_MS, ...fields });
const requested = (request: object): Record<string, string> => ({
  [MEMBERSHIP_REQUEST_ANNOTATION]: requestText({ id: '1', ...request }),
});
const change = (kind: string): Record<string, string> => ({
  [MEMBERSHIP_CHANGE_ANNOTATION]: JSON.stringify({ kind, by: 'ada', at: ago(30_000) }),
});

interface Waited {
  /** Its third VM; null if it is missing. */
  vm?: VmView | null;
  vmi?: Partial<VmiView>;
  cycle?: Cycle;
  batch?: Batch;
  annotations?: Record<string, string>;
  /** That the pool wants; 3 if it is not said. */
  replicas?: number;
  /** The kind of a step of the plan, or what else comes of it. */
  due: unknown;
}

const going = (vm: VmView): Waited => ({ vm, due: 'delete', ...(vm.role === 'Surge' && { replicas: 2 }) });
const healed = (cycle: Cycle): Waited => ({ vm: null, cycle, due: expect.stringMatching(/create|heal|delete/) });
/** A user has asked for it. */
const asked = (request: object): Waited => ({
  annotations: requested(request),
  due: expect.stringMatching(/changeMembers|Refused/),
});

const named = (vm: unknown, due: string): Waited => ({
  annotations: { [REMOVE_VMS_ANNOTATION]: JSON.stringify({ 'web-3': vm }) },
  replicas: 2,
  due,
});

/** What a pool waits for. */
const WAITS: Record<string, Waited> = {
  'an attempt to heal it, which is lost': healed(aCycle('Removing', { state: 'Unknown' })),
  'the delay until it is made again': healed(aCycle('Waiting', removed)),
  'its replacement': healed(aCycle('Provisioning', removed)),
  'its deletion, for it has halted': going(aVm('web-3', { ...leaving, removing: true })),
  'its disks to be let go': going(aVm('web-3', { ...leaving, deleting: true, keepsDisks: true })),
  'its deletion, for it is extra and not needed': going(aVm('web-3', { role: 'Surge', roleLabel: 'Surge' })),
  'a batch that was ended from outside': { batch: batchOf('restart', { endedOutside: true }), due: 'end batch 1' },
  'a batch that says nothing more': { batch: batchOf('live'), due: 'end batch 1' },
  'a batch that has deleted it and says nothing more': { vm: null, batch: batchOf('replace'), due: 'end batch 1' },
  'a batch of another template': {
    batch: batchOf('restart', { revision: NEW, rollout: NEW, startedAt: NOW }),
    due: 'supersede batch 1',
  },
  'a migration that KubeVirt does not begin': evacuating(
    { state: 'Unfinished', begunAt: null, endedAt: null },
    { migration: notBegun },
  ),
  'a migration that has failed': evacuating({}),
  'a restart, for its migrations have failed': evacuating({ attempt: 3, ended: 3, failures: 3 }),
  'a takeover': asked({ action: 'takeover' }),
  'a release': asked({ action: 'release' }),
  'its adoption by name': {
    vm: null,
    annotations: { [ADOPT_VMS_ANNOTATION]: JSON.stringify({ 'web-3': 'uid-of-web-3' }) },
    due: 'adoptNamed',
  },
  'its removal by name': named('uid-of-web-3', 'delete'),
  'its detachment by name': named({ uid: 'uid-of-web-3', keep: true }, 'release'),
};

const changing = (kind: 'takeover' | 'release'): object => ({
  annotations: { ...requested({ action: kind }), ...change(kind) },
});
const never = [{ cron: '0 2 29 2 *', duration: '1m' }];
const windows = {
  rollout: { windows: never },
  scaleInStrategy: { proactive: { windows: never } },
};
interface Held {
  spec?: Partial<PoolSpec>;
  metadata?: Partial<StoredPool['metadata']>;
  rollout?: Partial<RolloutStatus>;
}
const HOLDS: Record<string, Held> = {
  nothing: {},
  'a release': { metadata: changing('release') },
  'a takeover': { metadata: changing('takeover') },
  'a pause by a user': { rollout: { paused: { by: 'ada', at: ago(30_000) } } },
  'a rollout that has failed': { rollout: { halted: { kind: 'Failed', by: 'drover', at: ago(30_000) } } },
  'a pause by its spec': { spec: { paused: true } },
  'closed windows': { spec: windows },
  'its deletion': { metadata: { deletionTimestamp: ago(30_000) } },
};

/** What comes of the pool. */
function planned(
  { vm = aVm('web-3', { notYetRun: null }), vmi, cycle, batch, annotations, replicas = 3 }: Waited,
  { spec, metadata, rollout: held = {} }: Held,
): string[] {
  const base = aPool(
    {
      replicas,
      autohealing: {},
      ...(vm?.role === 'Surge' && { maxSurge: 1 }),
      ...(vmi && { drain: { windows: spec?.rollout?.windows ?? [] } }),
      ...spec,
    },
    { creationTimestamp: ago(9 * HOUR_MS), ...metadata, annotations: { ...metadata?.annotations, ...annotations } },
  );
  const rollout = { ...newRolloutState(revisionOf(poolTemplate(base.spec)), ago(HOUR_MS)), ...held };
  const plan = planPool({
    ...quiet,
    pool: { ...base, status: { replicas: 3, rollout } },
    vms: vm === null ? others : [...others, vm],
    vmiOf: (one) => (one.name === 'web-3' && vmi !== undefined ? aVmi(one, vmi) : vmiOf(one)),
    healing: { ...noHealing, cycles: cycle === undefined ? [] : [cycle] },
    batches: batch === undefined ? [] : [batch],
    rollout,
    burst: 250,
    now: NOW,
  });
  return [
    ...plan.steps.map(({ kind }) => kind),
    ...plan.healing.begin.map(() => 'heal'),
    ...plan.rollout.lost.map((n) => `end batch ${n}`),
    ...plan.rollout.superseded.map((n) => `supersede batch ${n}`),
    ...(plan.status?.membership?.handledRequests ?? []).map(({ outcome }) => outcome),
  ];
}

describe.each(Object.entries(HOLDS))('a pool that is held by %s', (_, hold) => {
  test.each(Object.entries(WAITS))('comes to the end of what it waits for: %s', (_what, waited) => {
    const comes = planned(waited, hold);
    const isDeleted = hold.metadata?.deletionTimestamp !== undefined;
    // What waits for another change of the members is due after that; VMs of a pool that is deleted go.
    const isBefore =
      comes.includes('changeMembers') || (isDeleted && waited.batch === undefined && comes.includes('delete'));
    if (!isBefore) expect(comes).toContainEqual(waited.due);
  });
});
