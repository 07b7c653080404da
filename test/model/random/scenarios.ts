import fc from 'fast-check';
import type { SetKind } from '../../../api/owner-kinds.ts';
import type { MaintenanceWindow, PoolSpec, Rollout, UpdateStrategy } from '../../../api/pool/pool.ts';
import { aStep } from '../../decisions/fixtures/rollout-pools.ts';
import { aTemplate } from '../pools.ts';
import { someBudgets, type BudgetScenario } from './budgets.ts';
import { kinds, type Happening } from './happenings.ts';
import { anySpec, anySpecWithDrain, anySurge, seen, seldom } from './specs.ts';

export interface SetScenario {
  kind: SetKind;
  replicas: number;
  bootMs: number;
  stopMs: number;
}

export interface Scenario {
  seed: number;
  lag: number;
  longHistory: number;
  delays: Record<string, number>;
  specs: PoolSpec[];
  /** At most one of each kind. */
  sets: SetScenario[];
  /** Null: there are none, and nothing that they are about. */
  budgets: BudgetScenario[] | null;
  /** VMs that no pool owns. */
  ownerless: number;
  /** `after`: milliseconds after the one before. */
  happenings: (Happening & { after: number })[];
}

const anySet: fc.Arbitrary<SetScenario> = fc.record({
  kind: fc.constantFrom<SetKind>('VirtualMachineReplicaSet', 'VirtualMachineInstanceReplicaSet'),
  replicas: fc.integer({ min: 1, max: 7 }),
  bootMs: fc.constantFrom(500, 4_000),
  stopMs: fc.constantFrom(100, 3_000),
});

/** Milliseconds between happenings: close together, or far apart. */
const anyGap = fc.oneof(fc.nat(300), fc.nat(5_000), fc.nat(40_000));
const anyDelays = (...more: string[]): fc.Arbitrary<Record<string, number>> =>
  fc
    .tuple(
      fc.constantFrom(
        ...more,
        'deleteVms',
        'haltVms',
        'createVms',
        'updateVms',
        'removeUnhealthyVm',
        'removeVms',
        'changePower',
        'patchMachineTypes',
        'followTransition',
        'createReplicas',
        'adoptVms',
        'releaseVms',
      ),
      fc.constantFrom(0, 0, 5_000, 30_000),
    )
    .map(([activity, ms]) => ({ [activity]: ms }));

export const anyScenario = (...named: (keyof typeof kinds)[]): fc.Arbitrary<Scenario> =>
  fc.record({
    seed: fc.integer({ min: 1, max: 1_000_000 }),
    lag: fc.constantFrom(0, 50, 1_000),
    longHistory: fc.constantFrom(40, 400),
    delays: anyDelays(...(named.includes('evictions') ? ['evacuateVms', 'evacuateVms'] : [])),
    specs: fc.array(named.includes('evictions') ? anySpecWithDrain : anySpec, { minLength: 1, maxLength: 2 }),
    sets: named.includes('sets')
      ? fc.uniqueArray(anySet, { minLength: 1, maxLength: 2, selector: ({ kind }) => kind })
      : fc.constant([]),
    budgets: named.includes('budgets') ? someBudgets : fc.constant(null),
    ownerless: fc.constantFrom(0, 4),
    happenings: fc
      .array(fc.tuple(fc.oneof(...named.map((name) => kinds[name])), anyGap), { minLength: 1, maxLength: 10 })
      .map((all) => all.map(([happening, after]) => ({ ...happening, after }))),
  });

/**
 * The same with pools that make extra VMs for their updates, as far as their VMs can be extra: all of them, or the
 * first so many.
 */
export const withSurge = (scenarios: fc.Arbitrary<Scenario>, count = Infinity): fc.Arbitrary<Scenario> =>
  fc.tuple(scenarios, anySurge).map(([scenario, surge]) => ({
    ...scenario,
    specs: scenario.specs.map((spec, index): PoolSpec => {
      if (index >= count) return spec;
      const hasDisks = spec.template.spec.dataVolumeTemplates !== undefined;
      const updateStrategy: UpdateStrategy = { proactive: hasDisks ? { disruption: 'Replace' } : {} };
      return { ...spec, ...surge, updateStrategy };
    }),
  }));

const anySteps = fc.constantFrom<NonNullable<Rollout['steps']>>(
  [aStep(1, { approval: {} })],
  [aStep(1, { wait: '5s' }), aStep(3, { wait: '30s' })],
  [aStep(1, { wait: '5s' }), aStep('50%', { approval: {} })],
);

/** The same with pools that are updated in steps, in windows, and with more or less disruption. */
export const withSteps = (scenarios: fc.Arbitrary<Scenario>): fc.Arbitrary<Scenario> =>
  fc
    .tuple(
      scenarios,
      fc.record({
        vmRolloutStrategy: seldom(fc.constantFrom('Stage', 'LiveUpdate'), 1),
        disruption: seldom(fc.constantFrom('None', 'Live', 'Restart', 'Replace'), 1),
        steps: seldom(anySteps, 1),
        windows: seldom(fc.constant<MaintenanceWindow[]>([{ cron: '*/5 * * * *', duration: '1m' }]), 4),
      }),
    )
    .map(([scenario, { vmRolloutStrategy, disruption, ...rollout }]) => ({
      ...scenario,
      specs: scenario.specs.map((spec): PoolSpec => ({
        ...spec,
        ...seen({ vmRolloutStrategy }),
        updateStrategy: { proactive: seen({ disruption }) },
        rollout: { ...spec.rollout, ...seen(rollout) },
      })),
    }));

/**
 * The same with pools that do not take each other's disks: VMs that can't be made use up budgets for ever. In every
 * other one, what happens is so far apart that all workers know of it.
 */
export const underBudgets = (scenarios: fc.Arbitrary<Scenario>): fc.Arbitrary<Scenario> =>
  scenarios.map(({ specs: [first, ...others], ...scenario }) => ({
    ...scenario,
    specs: [first!, ...others.map((spec) => ({ ...spec, template: aTemplate({ bootMs: 4_000 }) }))],
    happenings: scenario.happenings.map((one) => ({ ...one, after: one.after + (scenario.seed % 2) * 30_000 })),
  }));
