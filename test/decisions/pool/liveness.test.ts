import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { noHealing, type Cycle } from '../../../decisions/healing/state.ts';
import type { Backoff } from '../../../decisions/owners/failures.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import type { DiskTemplate } from '../../../decisions/template/disk-template.ts';
import type { KeptClaim } from '../../../decisions/template/kept-disk.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import { isRegular, type VmView } from '../../../decisions/views/vm.ts';
import { aPool, aVm, quiet } from '../fixtures/fleets.ts';

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
    kept: {
      pool: 'web',
      poolUid: 'pool-uid',
      number,
      disk: 'data',
      volume: null,
      firmware: {},
      keptAt: '2026-01-01T00:00:00Z',
      ...more,
    },
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
const cycle = (phase: Cycle['phase'], run: Cycle['run']): Cycle => ({
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

/** What a pool waits for, of its third VM. */
const WAITS: Record<string, { vm?: VmView; cycle?: Cycle }> = {
  'an attempt to heal it, which is lost': { cycle: cycle('Removing', { state: 'Unknown' }) },
  'the delay until it is made again': { cycle: cycle('Waiting', removed) },
  'its replacement': { cycle: cycle('Provisioning', removed) },
  'its deletion, for it has halted': { vm: aVm('web-3', { ...leaving, removing: true }) },
  'its disks to be let go': { vm: aVm('web-3', { ...leaving, deleting: true, keepsDisks: true }) },
  'its deletion, for it is extra and not needed': { vm: aVm('web-3', { role: 'Surge', roleLabel: 'Surge' }) },
};

const request = { 'drover.dev/membership-request': '{"id":"1","action":"release"}' };
const release = { 'drover.dev/membership-change': JSON.stringify({ kind: 'release', by: 'ada', at: ago(30_000) }) };
const never = [{ cron: '0 2 29 2 *', duration: '1m' }];
const HOLDS: Record<string, { spec?: object; metadata?: object; paused?: object }> = {
  nothing: {},
  'a release': { metadata: { annotations: { ...request, ...release } } },
  'a pause by a user': { paused: { paused: { by: 'ada', at: ago(30_000) } } },
  'a pause by its spec': { spec: { paused: true } },
  'closed windows': { spec: { rollout: { windows: never }, scaleInStrategy: { proactive: { windows: never } } } },
  'its deletion': { metadata: { deletionTimestamp: ago(30_000) } },
};

describe.each(Object.entries(HOLDS))('a pool that is held by %s', (_, { spec, metadata, paused }) => {
  test.each(Object.entries(WAITS))('comes to the end of what it waits for: %s', (_what, { vm, cycle: one }) => {
    const base = aPool(
      { replicas: vm?.role === 'Surge' ? 2 : 3, autohealing: {}, maxSurge: 1, ...spec },
      { creationTimestamp: ago(9 * 3_600_000), ...metadata },
    );
    const rollout = {
      revision: base.status?.updateRevision ?? revisionOf(poolTemplate(base.spec)),
      startedAt: ago(3_600_000),
      batches: 0,
      lastBatch: 0,
      step: 0,
      failures: [],
      ...paused,
    };
    const pool = { ...base, status: { replicas: 3, ...base.status, rollout } };
    const { steps, healing } = planPool({
      ...quiet,
      pool,
      vms: vm === undefined ? others : [...others, vm],
      healing: { ...noHealing, cycles: one === undefined ? [] : [one] },
      rollout,
      burst: 250,
      now: NOW,
    });
    const due = [...steps.map(({ kind }) => kind), ...healing.begin.map(() => 'heal')];
    expect(due).toContainEqual(vm === undefined ? expect.any(String) : 'delete');
  });
});
