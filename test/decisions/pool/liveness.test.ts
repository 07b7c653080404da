import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import type { Backoff } from '../../../decisions/owners/failures.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import type { DiskTemplate } from '../../../decisions/template/disk-template.ts';
import type { KeptClaim } from '../../../decisions/template/kept-disk.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { isRegular } from '../../../decisions/views/vm.ts';
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
