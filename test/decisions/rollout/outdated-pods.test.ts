import { describe, expect, test } from 'vitest';
import type { PoolSpec, VmTemplate } from '../../../api/pool/pool.ts';
import { rolloutConditions } from '../../../decisions/rollout/conditions.ts';
import type { RolloutPlan } from '../../../decisions/rollout/plan.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import {
  aBatch,
  aStep,
  at,
  failure,
  held,
  NOW,
  old,
  plan,
  rolling,
  rolloutInput,
  taken,
  waits,
  type RolloutFields,
} from '../fixtures/rollout-pools.ts';

type Proactive = NonNullable<NonNullable<PoolSpec['updateStrategy']>['proactive']>;

const tier = (value: string): VmTemplate => ({
  spec: {
    runStrategy: 'Always',
    template: { metadata: { labels: { tier: value } }, spec: { domain: { devices: {} } } },
  },
});
const FROM = revisionOf(tier('silver'));
const TO = revisionOf(tier('gold'));

/** All VMs have the newest template, and VMIs with it; the pods of all lack its label unless `vmis` says otherwise. */
function fields(
  proactive: Proactive,
  {
    spec = {},
    vmis = {},
    vms,
    ...more
  }: Omit<RolloutFields, 'vmis'> & { vmis?: RolloutFields['vmis'] | undefined } = {},
): RolloutFields {
  const all = vms ?? [1, 2, 3, 4].map((number) => old(number, { revision: TO }));
  const lacking = (vm: VmView): Partial<VmiView> => ({
    uid: `vmi-of-${vm.name}`,
    revision: TO,
    node: 'one',
    pod: 'p',
    podRevision: FROM,
    migratable: true,
    ...vmis[vm.name],
  });
  return {
    vms: all,
    vmis: Object.fromEntries(all.map((vm) => [vm.name, lacking(vm)])),
    kept: [tier('silver')],
    spec: { template: tier('gold'), maxUnavailable: 1, updateStrategy: { proactive }, ...spec },
    status: { currentRevision: TO, updateRevision: TO },
    state: { ...rolling(), revision: TO },
    ...more,
  };
}
const planned = (...args: Parameters<typeof fields>): RolloutPlan => plan(fields(...args));
/** What is done to the VMs that a batch takes at once. */
function acts(one: RolloutPlan): string[] {
  const now = taken(one);
  return (one.update?.batch.vms ?? []).flatMap(({ name, act }) => (now.includes(name) ? [`${act} ${name}`] : []));
}
const progressing = (given: RolloutFields) => {
  const { pool } = rolloutInput(given);
  return rolloutConditions(pool, plan(given), { blocked: null, waiting: 0, going: [] }, at(NOW))[0]!;
};

const NO_MIGRATION = { 'web-4': { migratable: false } };

describe('VMs whose pods lack something', () => {
  test.each<[title: string, proactive: Proactive, vmis: RolloutFields['vmis'], expected: string[]]>([
    ['are reported unless the pool says more', {}, {}, []],
    ['migrate within the budget', { outdatedPods: 'Migrate' }, {}, ['migrate web-4']],
    [
      'are passed over if they lack nothing',
      { outdatedPods: 'Migrate' },
      { 'web-4': { podRevision: null } },
      ['migrate web-1'],
    ],
    ["don't migrate if nothing may be done to them", { outdatedPods: 'Migrate', disruption: 'None' }, {}, []],
    ['stay if they can not migrate', { outdatedPods: 'Migrate' }, NO_MIGRATION, ['migrate web-1']],
    ['restart if they can not migrate', { outdatedPods: 'MigrateOrRestart' }, NO_MIGRATION, ['restart web-4']],
    [
      "don't restart if they may only be changed live",
      { outdatedPods: 'MigrateOrRestart', disruption: 'Live' },
      NO_MIGRATION,
      ['migrate web-1'],
    ],
    ['restart if their pool says so', { outdatedPods: 'Restart' }, {}, ['restart web-4']],
  ])('%s', (_title, proactive, vmis, expected) => {
    expect(acts(planned(proactive, { vmis }))).toEqual(expected);
  });

  test('are reported with the VMI and the migration', () => {
    const evacuation = {
      attempt: 3,
      state: 'Succeeded',
      ended: 0,
      failures: 0,
      since: null,
      begunAt: null,
      endedAt: null,
      whyFailed: null,
    } as const;
    const { update } = planned({ outdatedPods: 'Migrate' }, { vmis: { 'web-4': { evacuation } } });
    expect(update!.batch.vms[0]).toMatchObject({ migration: { vmi: 'vmi-of-web-4', attempt: 4 } });
    expect(update!.reason).toBe(`migrate web-1 … web-4, whose pods lack what ${TO} says`);
    expect(planned({ outdatedPods: 'Restart' }).update!.batch.vms[0]).toMatchObject({ vmi: 'vmi-of-web-4' });
  });

  test('wait while the rollout is paused, and outside of its windows', () => {
    const paused = planned({ outdatedPods: 'Migrate' }, { spec: { paused: true } });
    expect([taken(paused), paused.phase]).toEqual([[], 'Paused']);
    const windows = [{ cron: '0 3 * * *', duration: '1h' }];
    const early = planned({ outdatedPods: 'Migrate' }, { spec: { rollout: { windows } } });
    expect([taken(early), early.phase]).toEqual([[], 'Waiting']);
  });

  test('wait for other VMs that are down, and while they migrate', () => {
    const down = [old(4, { revision: TO, ready: false }), ...[1, 2].map((number) => old(number, { revision: TO }))];
    const blocked = planned(
      { outdatedPods: 'Migrate' },
      { vms: down, vmis: { 'web-4': { podRevision: null, ready: false } } },
    );
    expect(taken(blocked)).toEqual([]);
    expect(waits(blocked)[0]).toContain('maxUnavailable allows 1');
    const migration = { name: 'm', phase: 'Running', createdAt: 0 };
    const busy = planned({ outdatedPods: 'Migrate' }, { vmis: { 'web-4': { migration } } });
    expect([taken(busy), waits(busy)]).toEqual([['web-1'], ['web-4: it migrates (m)']]);
  });

  test('count to a step only once they have a new pod', () => {
    const steps = [aStep(1)];
    const status = { currentRevision: FROM, updateRevision: TO };
    const first = planned({ outdatedPods: 'Migrate' }, { spec: { rollout: { steps } }, status });
    expect(acts(first)).toEqual(['migrate web-4']);
    const vmis = { 'web-4': { podRevision: null } };
    const state = { ...rolling(), revision: TO, batches: 1 };
    const then = planned({ outdatedPods: 'Migrate' }, { spec: { rollout: { steps } }, status, vmis, state });
    expect([acts(then), then.phase, then.updated]).toEqual([[], 'Waiting', 1]);
  });

  test('are reported and counted, and the rollout is not complete while they are to get a pod', () => {
    const given = fields({ outdatedPods: 'Migrate' }, { vmis: { 'web-4': { podRevision: null } } });
    expect(progressing(given)).toMatchObject({ reason: 'RollingOut', message: `1 of 4 VMs updated to revision ${TO}` });
    const { outdatedPods, phase, behind } = plan(given);
    expect([outdatedPods.vms.length, phase, behind]).toEqual([3, 'RollingOut', 3]);
  });

  test('are reported with the reason if nothing is done about them', () => {
    const cannot = fields({ outdatedPods: 'Migrate' }, { vms: [old(4, { revision: TO })], vmis: NO_MIGRATION });
    const lack = "web-4: the pod lacks the template's labels, until the next start or migration";
    expect(plan(cannot).phase).toBe('Complete');
    expect(progressing(cannot)).toMatchObject({
      reason: 'OutdatedPods',
      message: `revision ${TO} is rolled out; ${lack}: KubeVirt cannot migrate it, and the pool allows no restart for that`,
    });
    const words = (proactive: Proactive): string[] =>
      planned(proactive, { vms: [old(4, { revision: TO })], vmis: NO_MIGRATION }).outdatedPods.messages;
    expect(words({ outdatedPods: 'Restart', disruption: 'Live' })).toEqual([
      `${lack}: the pool allows no restart for that`,
    ]);
    expect(words({ outdatedPods: 'Migrate', disruption: 'None' })).toEqual([
      `${lack}: the pool allows no migration for that`,
    ]);
    expect(words({})).toEqual([lack]);
  });

  test('halt the rollout if their migration failed, and are not tried again', () => {
    const failures = [failure('web-4', { message: 'its migration has failed: no node' })];
    const halted = planned({ outdatedPods: 'Migrate' }, { state: { ...rolling({ failures }), revision: TO } });
    expect([halted.phase, halted.state.halted?.reason, taken(halted)]).toEqual([
      'Failed',
      '1 VM failed, and maxFailures allows 0; the last: web-4: its migration has failed: no node',
      [],
    ]);
    const spec = { rollout: { maxFailures: 1 } };
    const others = { 'web-1': { podRevision: null }, 'web-2': { podRevision: null }, 'web-3': { podRevision: null } };
    const over = planned(
      { outdatedPods: 'Migrate' },
      { spec, vmis: others, state: { ...rolling({ failures }), revision: TO } },
    );
    expect([over.phase, taken(over), over.openFailures.length, over.state.completedAt]).toEqual([
      'Complete',
      [],
      1,
      at(NOW),
    ]);
  });

  test('are a lost batch once it has been silent for its deadline and a quarter of an hour', () => {
    const migration = { vmi: 'vmi-of-web-4', attempt: 1 };
    const MINUTE = 60_000;
    const lost = (ms: number, more: object = {}): number[] => {
      const batch = { revision: TO, rollout: TO, startedAt: NOW - ms, ...more };
      const vms = [held(old(4, { revision: TO }), 'migrate', { migration })];
      return planned({ outdatedPods: 'Migrate' }, { batches: [aBatch(vms, batch)] }).lost;
    };
    expect([lost(24 * MINUTE), lost(26 * MINUTE)]).toEqual([[], [1]]);
    const heardAt = NOW - 24 * MINUTE;
    expect(lost(600 * MINUTE, { heardAt })).toEqual([]);
  });
});
