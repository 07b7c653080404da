import fc from 'fast-check';
import type {
  Autohealing,
  Drain,
  PoolSpec,
  Rollout,
  ScaleInStrategy,
  Standby,
  UpdateStrategy,
} from '../../../api/pool/pool.ts';
import { aStep } from '../../decisions/fixtures/rollout-pools.ts';
import { aCheck, aTemplate } from '../pools.ts';

/** Undefined in most cases. */
export const seldom = <T>(value: fc.Arbitrary<T>, weight = 3): fc.Arbitrary<T | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight }, { arbitrary: value, weight: 1 });
export const seen = <T extends object>(record: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };

export const anyMax = fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constantFrom('25%', '50%'));

export const anyRollout: fc.Arbitrary<Rollout> = fc
  .record({
    progressDeadlineSeconds: fc.constantFrom(20, 60, 300),
    minReadySeconds: seldom(fc.constant(3)),
    onFailure: seldom(fc.constantFrom('Pause', 'Undo', 'Continue'), 1),
    maxFailures: seldom(fc.integer({ min: 0, max: 3 })),
    steps: seldom(
      fc.constantFrom<NonNullable<Rollout['steps']>>(
        [aStep(1, { approval: {} })],
        [aStep(2, { wait: '30s' })],
        [aStep(1, { check: aCheck() })],
        [aStep(1, { check: aCheck({ onFailure: 'Undo', failureThreshold: 1 }) }), aStep(2, { wait: '30s' })],
      ),
      4,
    ),
  })
  .map(seen);

const anyHealing: fc.Arbitrary<Autohealing> = fc
  .record({
    startupFailureThreshold: fc.constantFrom(1, 3),
    unhealthyAfter: seldom(fc.constant({ notReady: '30s' })),
    backoff: fc.constantFrom({ initial: '1s', max: '5s' }, { initial: '10s', jitter: 0 }),
    maxUnhealthy: fc.constantFrom('100%', '40%'),
    preserveStorage: seldom(fc.boolean()),
  })
  .map(seen);

const anyScaleIn = fc.constantFrom<ScaleInStrategy>(
  { proactive: { windows: [{ cron: '*/10 * * * *', duration: '5m' }], selectionPolicy: { spread: 'node' } } },
  { opportunistic: {} },
  { proactive: { statePreservation: 'Offline' } },
  { proactive: { statePreservation: 'Offline' } },
);
const anyUpdate = fc.constantFrom<UpdateStrategy>(
  { proactive: { disruption: 'Replace' } },
  { proactive: { disruption: 'Live' } },
  { proactive: { drift: 'Correct' } },
  { proactive: { outdatedPods: 'Migrate' } },
  { proactive: { outdatedPods: 'MigrateOrRestart', drift: 'Correct' } },
  { opportunistic: {} },
);

const anyDrain = fc.constantFrom<Drain>({}, {}, { method: 'Restart' }, { deadlineSeconds: 5 }, { method: 'Migrate' });
export const anyStandby: fc.Arbitrary<Standby> = fc.record({
  replicas: fc.nat(3),
  state: fc.constantFrom('Stopped', 'Stopped', 'Paused'),
});

export const anySpec: fc.Arbitrary<PoolSpec> = fc
  .record({
    replicas: fc.integer({ min: 1, max: 7 }),
    maxUnavailable: seldom(anyMax, 1),
    rollout: anyRollout,
    autohealing: seldom(anyHealing, 1),
    scaleInStrategy: seldom(anyScaleIn),
    updateStrategy: seldom(anyUpdate, 6),
    standby: seldom(anyStandby, 2),
    disk: seldom(fc.constant('root'), 1),
    bootMs: fc.constantFrom(500, 4_000),
  })
  .map(({ disk, bootMs, ...spec }): PoolSpec => ({
    ...seen(spec),
    template: aTemplate({ bootMs, ...(disk === undefined ? {} : { disk }) }),
  }));

/** The same, of a pool that may have drover move its VMs. */
export const anySpecWithDrain: fc.Arbitrary<PoolSpec> = fc
  .tuple(anySpec, seldom(anyDrain, 1))
  .map(([spec, drain]) => (drain === undefined ? spec : { ...spec, drain }));
/** With `maxUnavailable: 0`, no VM goes down before an extra one has come up. */
export const anySurge: fc.Arbitrary<Pick<PoolSpec, 'maxSurge' | 'maxUnavailable'>> = fc
  .record({ maxSurge: anyMax, alone: fc.boolean() })
  .map(({ maxSurge, alone }) => ({ maxSurge, ...(alone ? { maxUnavailable: 0 } : {}) }));
