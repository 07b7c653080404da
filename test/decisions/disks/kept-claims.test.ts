import { describe, expect, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { diskIdentity, type DiskTemplate } from '../../../decisions/disks/disk-template.ts';
import type { KeptClaim } from '../../../decisions/disks/kept-claims.ts';
import type { KeptDisk } from '../../../decisions/disks/kept-disk.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { planPool, type PoolPlan } from '../../../decisions/pool/plan.ts';
import { revisionOf } from '../../../decisions/revisions/hash.ts';
import { aPool, aVm, quiet } from '../fixtures/fleets.ts';

const disk = (storage: string, url = 'http://a'): DiskTemplate => ({
  metadata: { name: 'data' },
  spec: { source: { http: { url } }, storage: { resources: { requests: { storage } } } },
});
const templateOf = (of: DiskTemplate): PoolSpec['template'] =>
  ({
    spec: {
      runStrategy: 'Always',
      dataVolumeTemplates: [of],
      template: { spec: { domain: { devices: {} }, volumes: [{ name: 'data', dataVolume: { name: 'data' } }] } },
    },
  }) as unknown as PoolSpec['template'];
const OLD = templateOf(disk('1Gi'));

const aClaim = (number: number, more: Partial<KeptDisk> & { deleting?: boolean } = {}): KeptClaim => {
  const { deleting = false, ...kept } = more;
  const { uid: poolUid, name: pool } = aPool().metadata;
  return {
    namespace: 'default',
    name: `data-${number}`,
    uid: `claim-${number}`,
    resourceVersion: '1',
    deleting,
    kept: {
      pool,
      poolUid,
      number,
      disk: 'data',
      revision: revisionOf(OLD),
      identity: diskIdentity(disk('1Gi')),
      size: '1Gi',
      keptBy: 'scale-in',
      keptAt: '2026-01-01T00:00:00Z',
      ...kept,
    },
  };
};
const OFFLINE = { proactive: { statePreservation: 'Offline' as const } };
const keptRevisions = [{ name: 'web-old', revision: revisionOf(OLD), number: 1, template: OLD }];

function plan(spec: Partial<PoolSpec>, keptClaims: KeptClaim[], input: Partial<PoolPlanInput> = {}): PoolPlan {
  const pool = aPool({ template: OLD, scaleInStrategy: OFFLINE, ...spec });
  return planPool({
    ...quiet,
    pool,
    vms: [],
    revisions: keptRevisions,
    burst: 250,
    keptClaims,
    ...input,
  });
}
const creations = ({ steps }: PoolPlan): unknown =>
  steps.flatMap((step) => (step.kind === 'create' ? [[step.revision, step.numbers]] : []));

describe('a VM whose disk was kept', () => {
  test('is made of the newest template if its disk is of it, whatever else has changed', () => {
    expect(creations(plan({ replicas: 2 }, [aClaim(1)]))).toEqual([[revisionOf(OLD), [1, 2]]]);
    const template = { ...OLD, metadata: { labels: { tier: 'db' } } };
    expect(creations(plan({ replicas: 2, template }, [aClaim(1)]))).toEqual([[revisionOf(template), [1, 2]]]);
  });

  test.each([
    ['larger', disk('2Gi')],
    ['filled from another source', disk('1Gi', 'http://b')],
  ])('is made of the template that its disk is of if the new one is %s: it is not called updated', (_how, changed) => {
    const template = templateOf(changed);
    expect(creations(plan({ replicas: 2, template }, [aClaim(1)]))).toEqual([
      [revisionOf(OLD), [1]],
      [revisionOf(template), [2]],
    ]);
  });

  test('is not made if nobody knows any more what its disk was made from', () => {
    const planned = plan({ replicas: 2, template: templateOf(disk('2Gi')) }, [aClaim(1, { revision: 'forgotten' })]);
    expect(creations(planned)).toEqual([[revisionOf(templateOf(disk('2Gi'))), [2]]]);
  });

  test('gets a new one once the pool keeps none any more, and only when the old one is gone; what healing has left comes back', () => {
    const { steps } = plan({ replicas: 2, scaleInStrategy: {} }, [aClaim(1)]);
    expect(steps).toMatchObject([
      { kind: 'create', numbers: [2] },
      { kind: 'deleteKeptDisks', claims: [{ name: 'data-1', uid: 'claim-1' }] },
    ]);
    expect(plan({ replicas: 2, scaleInStrategy: {} }, [aClaim(1, { deleting: true })]).steps).toMatchObject([
      { kind: 'create', numbers: [2] },
    ]);
    expect(plan({ replicas: 2 }, [aClaim(1, { deleting: true })]).steps).toMatchObject([
      { kind: 'create', numbers: [2] },
    ]);
    expect(creations(plan({ replicas: 2, scaleInStrategy: {} }, [aClaim(1, { keptBy: 'healing' })]))).toEqual([
      [revisionOf(OLD), [1, 2]],
    ]);
    expect(plan({ replicas: 0, scaleInStrategy: {} }, [aClaim(1)]).steps).toEqual([]);
  });

  test('takes the mark off its claim by being there', () => {
    const vms = [aVm('web-1', { revision: revisionOf(OLD) })];
    expect(plan({ replicas: 1 }, [aClaim(1)], { vms }).steps).toMatchObject([
      { kind: 'unmarkKeptDisks', claims: [{ name: 'data-1', uid: 'claim-1', resourceVersion: '1' }] },
    ]);
    expect(plan({ replicas: 0 }, [aClaim(1)], { vms: [{ ...vms[0]!, deleting: true }] }).steps).toEqual([]);
  });
});

const pruned = ({ steps }: PoolPlan): string[] =>
  steps.flatMap((step) => (step.kind === 'deleteRevisions' ? step.revisions : []));

describe('kept disks', () => {
  test('are counted and told of; the template that they are of is not forgotten', () => {
    const { status } = plan({ replicas: 0 }, [aClaim(1), aClaim(2)]);
    expect(status).toMatchObject({ keptDisks: 2 });
    expect(status!.conditions).toContainEqual(
      expect.objectContaining({
        type: 'DisksKept',
        status: 'True',
        reason: 'Kept',
        message: 'the disks of web-1, web-2 are kept',
      }),
    );
    const spec = { replicas: 0, template: templateOf(disk('2Gi')), revisionHistoryLimit: 0 };
    const told = plan(spec, [aClaim(2)]);
    expect(told.status!.conditions).toContainEqual(
      expect.objectContaining({
        type: 'DisksKept',
        reason: 'OutdatedTemplate',
        message: expect.stringContaining('those of web-2 are not as the template makes them'),
      }),
    );
    expect(pruned(told)).toEqual([]);
    const done = { ...aPool(spec), status: told.status! };
    expect(
      pruned(
        plan(spec, [], { pool: { ...done, status: { ...told.status!, currentRevision: revisionOf(spec.template) } } }),
      ),
    ).toEqual(['web-old']);
  });

  test('of VMs that are there are none', () => {
    const { status } = plan({ replicas: 1 }, [aClaim(1)], { vms: [aVm('web-1', { revision: revisionOf(OLD) })] });
    expect(status).toMatchObject({ keptDisks: 0 });
    expect(status!.conditions?.some(({ type }) => type === 'DisksKept')).toBe(false);
  });
});
