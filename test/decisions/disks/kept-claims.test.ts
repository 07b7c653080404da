import { describe, expect, test } from 'vitest';
import { POOL_LABEL } from '../../../api/labels-and-annotations.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { withKeptTemplates } from '../../../decisions/disks/kept-claims.ts';
import { field } from '../../../decisions/lib/json.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { planPool, type PoolPlan } from '../../../decisions/pool/plan.ts';
import { diskTemplates, type DiskTemplate } from '../../../decisions/template/disk-template.ts';
import type { KeptClaim, KeptDisk } from '../../../decisions/template/kept-disk.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { vmFromTemplate } from '../../../decisions/template/vm-from-template.ts';
import { aPool, aVm, quiet } from '../fixtures/fleets.ts';
import { aKeptDisk } from '../fixtures/kept-disks.ts';

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

const aClaim = (
  number: number,
  more: Partial<KeptDisk> & Pick<Partial<KeptClaim>, 'deleting' | 'isOfState'> = {},
): KeptClaim => {
  const { deleting = false, isOfState = false, ...kept } = more;
  const { uid: poolUid, name: pool } = aPool().metadata;
  return {
    namespace: 'default',
    name: `data-${number}`,
    uid: `claim-${number}`,
    resourceVersion: '1',
    deleting,
    isOfState,
    kept: aKeptDisk({ pool, poolUid, number, disk: 'data', revision: revisionOf(OLD), template: disk('1Gi'), ...kept }),
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
  test('is made of the newest template if its disk comes from that, whatever else has changed', () => {
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

  test.each(['forgotten', null])(
    'is made though its revision (%s) is not known, with its own disk template',
    (revision) => {
      const template = templateOf(disk('2Gi'));
      const claim = aClaim(1, { revision });
      const { steps } = plan({ replicas: 2, template }, [claim]);
      expect(steps).toMatchObject([{ kind: 'create', numbers: [1, 2], revision: revisionOf(template) }]);
      expect(steps[0]!.reason).toMatch(/web-1 with kept disks, as those were made$/);

      const made = vmFromTemplate(aPool({ template }), template, 1);
      const { metadata, spec } = withKeptTemplates(made, new Map([['data-1', claim.kept]]));
      expect(diskTemplates(spec).get('data-1')).toEqual({ ...disk('1Gi'), metadata: { name: 'data-1' } });
      expect([metadata.labels, field(spec['template'], 'metadata', 'labels')]).toEqual([
        { [POOL_LABEL]: 'web' },
        { [POOL_LABEL]: 'web' },
      ]);
      for (const same of [null, { ...disk('2Gi'), metadata: { name: 'data-1' } }])
        expect(withKeptTemplates(made, new Map([['data-1', { ...claim.kept, template: same }]]))).toBe(made);
    },
  );

  test('gets a new disk only once the pool keeps none and the old one is gone; what healing has left comes back', () => {
    const { steps } = plan({ replicas: 2, scaleInStrategy: {} }, [aClaim(1)]);
    expect(steps).toMatchObject([
      { kind: 'create', numbers: [2] },
      { kind: 'deleteKeptDisks', claims: [{ name: 'data-1', uid: 'claim-1' }] },
    ]);
    expect(creations(plan({ replicas: 2, scaleInStrategy: {} }, [aClaim(1, { keptBy: 'healing' })]))).toEqual([
      [revisionOf(OLD), [1, 2]],
    ]);
    expect(plan({ replicas: 0, scaleInStrategy: {} }, [aClaim(1)]).steps).toEqual([]);
  });

  test('is tried while its disk is terminating: the refused creation says what it waits for', () => {
    for (const scaleInStrategy of [{}, OFFLINE])
      expect(creations(plan({ replicas: 2, scaleInStrategy }, [aClaim(1, { deleting: true })]))).toEqual([
        [revisionOf(OLD), [1, 2]],
      ]);
  });

  test('removes the label from its claim by being there', () => {
    const vms = [aVm('web-1', { revision: revisionOf(OLD), disks: ['data-1'] })];
    expect(plan({ replicas: 1 }, [aClaim(1)], { vms }).steps).toMatchObject([
      { kind: 'unlabelKeptDisks', claims: [{ name: 'data-1', uid: 'claim-1', resourceVersion: '1' }] },
    ]);
    expect(plan({ replicas: 0 }, [aClaim(1)], { vms: [{ ...vms[0]!, deleting: true }] }).steps).toEqual([]);
  });

  test('keeps the label on a disk that it does not use, since nothing else would tell whose disk that is', () => {
    const vms = [aVm('web-1', { revision: revisionOf(OLD), disks: [] })];
    expect(plan({ replicas: 1 }, [aClaim(1)], { vms }).steps).toEqual([]);
    expect(plan({ replicas: 1 }, [aClaim(1, { isOfState: true })], { vms }).steps).toMatchObject([
      { kind: 'unlabelKeptDisks' },
    ]);
  });
});

const pruned = ({ steps }: PoolPlan): string[] =>
  steps.flatMap((step) => (step.kind === 'deleteRevisions' ? step.revisions : []));

describe('kept disks', () => {
  test('are counted and reported, and their template is kept', () => {
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

  test('hold up no other housekeeping if their labels cannot be removed', () => {
    const spec = { replicas: 1, template: templateOf(disk('2Gi')), revisionHistoryLimit: 0 };
    const revision = revisionOf(spec.template);
    const vms = [aVm('web-1', { revision, disks: ['data-1'] })];
    const claims = [aClaim(1, { revision: null })];
    const { status } = plan(spec, claims, { vms });
    const pool = { ...aPool({ ...spec, scaleInStrategy: OFFLINE }), status: { ...status!, currentRevision: revision } };
    const revisions = [...keptRevisions, { name: 'web-new', revision, number: 2, template: spec.template }];
    const { steps } = plan(spec, claims, { vms, pool, revisions });
    expect(steps.map(({ kind }) => kind)).toEqual(['unlabelKeptDisks', 'deleteRevisions']);
  });

  test('do not include disks of VMs that are there', () => {
    const { status } = plan({ replicas: 1 }, [aClaim(1)], { vms: [aVm('web-1', { revision: revisionOf(OLD) })] });
    expect(status).toMatchObject({ keptDisks: 0 });
    expect(status!.conditions?.some(({ type }) => type === 'DisksKept')).toBe(false);
  });
});
