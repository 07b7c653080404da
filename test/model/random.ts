import fc from 'fast-check';
import type { SetKind } from '../../api/owner-kinds.ts';
import type {
  Autohealing,
  Drain,
  MaintenanceWindow,
  PoolSpec,
  Rollout,
  ScaleInStrategy,
  Standby,
  UpdateStrategy,
} from '../../api/pool/pool.ts';
import { aStep } from '../decisions/fixtures/rollout-pools.ts';
import { aTemplate } from './pools.ts';
import type { RefusedCall } from './refusals/refuse.ts';

export type RunStrategy = 'Always' | 'Manual' | 'RerunOnFailure' | 'Once' | 'Halted';

/** What happens to an installation. VMs, workers and pools are given by any number, taken modulo their count. */
export type Happening =
  | { what: 'scale'; pool: number; replicas: number }
  | { what: 'template'; pool: number; version: number; neverReady: boolean; power?: RunStrategy; sockets?: number }
  | { what: 'rules'; pool: number; spec: Partial<PoolSpec> }
  | { what: 'renew'; pool: number; isOrphaned: boolean }
  | { what: 'delete' | 'detach' | 'adopt' | 'stop' | 'start' | 'crash' | 'corrupt' | 'opt out'; vm: number }
  /** A person gives the VM other cores than its template has. */
  | { what: 'edit'; vm: number }
  /** By `drover rollout restart --drifted`. */
  | { what: 'set right'; pool: number }
  /** By `drover protect`, `unprotect`, and `scale --remove`. */
  | { what: 'protect' | 'unprotect' | 'remove'; vm: number }
  /** Its pod is to be evicted; `fails`: and its migrations fail. */
  | { what: 'evict'; vm: number; fails: boolean }
  /** By virtctl: of whatever migration of the VM is in flight. */
  | { what: 'migrate' | 'abort migration'; vm: number }
  /** By virtctl, and by who works in the VM. */
  | { what: 'restart' | 'pause VMI' | 'unpause VMI' | 'shut down'; vm: number }
  | { what: 'pause' | 'resume' | 'abort' | 'promote' | 'healPause' | 'healResume'; pool: number }
  /** About a VM of the pool that is being healed, and the workflow of its attempt. */
  | { what: 'healNow' | 'healSkip' | 'cancel attempt' | 'terminate attempt'; pool: number }
  | { what: 'restarts'; pool: number; maxUnavailable: number }
  /** By `drover vm start`, and `drover vm stop`. */
  | { what: 'start all' | 'stop all'; pool: number; atOnce: number }
  | { what: 'machine types'; glob: string; to: string | null; restartNow: boolean; maxRestarts: number }
  | SetHappening
  /** The API server refuses such calls of workers for a while: about one VM, or about all. */
  | { what: 'refuse'; call: RefusedCall; vm: number; isOfAll: boolean; ms: number }
  | { what: 'freeze' | 'cut off'; worker: number; ms: number }
  | { what: 'kill'; worker: number };

/** About a set, and one of its members. */
export type SetHappening =
  | { what: 'scale set'; set: number; replicas: number }
  | { what: 'pause set'; set: number; paused: boolean }
  | { what: 'set template'; set: number; failsToStart: boolean }
  | { what: 'renew set'; set: number; isOrphaned: boolean }
  | { what: 'relabel' | 'delete member' | 'crash member'; set: number; member: number }
  /** Every member that was released gets its label again. */
  | { what: 'relabel back'; set: number };

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
  /** VMs that no pool owns. */
  ownerless: number;
  /** `after`: milliseconds after the one before. */
  happenings: (Happening & { after: number })[];
}

/** Undefined in most cases. */
const seldom = <T>(value: fc.Arbitrary<T>, weight = 3): fc.Arbitrary<T | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight }, { arbitrary: value, weight: 1 });
const seen = <T extends object>(record: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };

const anyMax = fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constantFrom('25%', '50%'));

const anyRollout: fc.Arbitrary<Rollout> = fc
  .record({
    progressDeadlineSeconds: fc.constantFrom(20, 60, 300),
    minReadySeconds: seldom(fc.constant(3)),
    onFailure: seldom(fc.constantFrom('Pause', 'Undo', 'Continue'), 1),
    maxFailures: seldom(fc.integer({ min: 0, max: 3 })),
    steps: seldom(
      fc.constantFrom<NonNullable<Rollout['steps']>>([aStep(1, { approval: {} })], [aStep(2, { wait: '30s' })]),
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
  { opportunistic: {} },
);

const anyDrain = fc.constantFrom<Drain>({}, {}, { method: 'Restart' }, { deadlineSeconds: 5 }, { method: 'Migrate' });
const anyStandby: fc.Arbitrary<Standby> = fc.record({
  replicas: fc.nat(3),
  state: fc.constantFrom('Stopped', 'Stopped', 'Paused'),
});

const anySpec: fc.Arbitrary<PoolSpec> = fc
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
const anySpecWithDrain: fc.Arbitrary<PoolSpec> = fc
  .tuple(anySpec, seldom(anyDrain, 1))
  .map(([spec, drain]) => (drain === undefined ? spec : { ...spec, drain }));
/** With `maxUnavailable: 0`, no VM goes down before an extra one has come up. */
const anySurge: fc.Arbitrary<Pick<PoolSpec, 'maxSurge' | 'maxUnavailable'>> = fc
  .record({ maxSurge: anyMax, alone: fc.boolean() })
  .map(({ maxSurge, alone }) => ({ maxSurge, ...(alone ? { maxUnavailable: 0 } : {}) }));

const anySet: fc.Arbitrary<SetScenario> = fc.record({
  kind: fc.constantFrom<SetKind>('VirtualMachineReplicaSet', 'VirtualMachineInstanceReplicaSet'),
  replicas: fc.integer({ min: 1, max: 7 }),
  bootMs: fc.constantFrom(500, 4_000),
  stopMs: fc.constantFrom(100, 3_000),
});

const pool = fc.nat(1);
const vm = fc.nat(9);
const worker = fc.nat(2);

const wishes: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({ what: fc.constant('scale'), pool, replicas: fc.integer({ min: 0, max: 8 }) }),
  fc.record({
    what: fc.constant('template'),
    pool,
    version: fc.integer({ min: 2, max: 6 }),
    neverReady: fc.oneof({ arbitrary: fc.constant(false), weight: 3 }, { arbitrary: fc.constant(true), weight: 1 }),
  }),
);
const rules: fc.Arbitrary<Happening> = fc.record({
  what: fc.constant('rules'),
  pool,
  spec: fc.oneof(
    fc.record({ maxUnavailable: anyMax }),
    fc.record({ paused: fc.boolean() }),
    fc.record({ rollout: anyRollout }),
    fc.record({ standby: anyStandby }),
  ),
});
const people: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({ what: fc.constantFrom('delete', 'detach', 'adopt', 'stop', 'start', 'opt out'), vm }),
  fc.record({ what: fc.constantFrom('protect', 'unprotect', 'remove', 'edit', 'edit'), vm }),
  fc.record({ what: fc.constant('set right'), pool }),
  fc.record({ what: fc.constantFrom('pause', 'resume', 'abort', 'promote', 'healPause', 'healResume'), pool }),
  fc.record({ what: fc.constantFrom('healNow', 'healSkip', 'cancel attempt', 'terminate attempt'), pool }),
  fc.record({ what: fc.constant('restarts'), pool, maxUnavailable: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ what: fc.constantFrom('start all', 'stop all'), pool, atOnce: fc.integer({ min: 1, max: 3 }) }),
);
const transitions: fc.Arbitrary<Happening> = fc.record({
  what: fc.constant('machine types'),
  glob: fc.constantFrom('*', '*rhel8*', 'q35'),
  to: fc.constantFrom('pc-q35-rhel9.4.0', 'pc-q35-rhel9.8.0', null),
  restartNow: fc.oneof({ arbitrary: fc.constant(true), weight: 3 }, { arbitrary: fc.constant(false), weight: 1 }),
  maxRestarts: fc.integer({ min: 1, max: 3 }),
});
/** Templates that differ in what takes a restart, in what running VMIs take, or in whether VMs run at all. */
const powers: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('template'),
      pool,
      version: fc.integer({ min: 1, max: 2 }),
      neverReady: fc.oneof({ arbitrary: fc.constant(false), weight: 5 }, { arbitrary: fc.constant(true), weight: 1 }),
      power: fc.constantFrom<RunStrategy>('Always', 'Always', 'Always', 'Manual', 'RerunOnFailure', 'Once', 'Halted'),
      sockets: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constantFrom('restart', 'shut down', 'pause VMI', 'unpause VMI', 'stop', 'start', 'crash'),
      vm,
    }),
  },
);
const accidents: fc.Arbitrary<Happening> = fc.record({ what: fc.constantFrom('crash', 'corrupt'), vm });
const evictions: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('evict'),
      vm,
      fails: fc.oneof({ arbitrary: fc.constant(false), weight: 3 }, { arbitrary: fc.constant(true), weight: 1 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constantFrom('migrate', 'abort migration'), vm }) },
);
const faults: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({ what: fc.constantFrom('freeze', 'cut off'), worker, ms: fc.constantFrom(3_000, 30_000, 120_000) }),
  fc.record({ what: fc.constant('kill'), worker }),
);
const refusals: fc.Arbitrary<Happening> = fc.record({
  what: fc.constant('refuse'),
  call: fc.constantFrom('delete', 'delete', 'write', 'subresource'),
  vm,
  isOfAll: fc.boolean(),
  ms: fc.constantFrom(30_000, 120_000),
});
const set = fc.nat(1);
const member = fc.nat(9);
const sets: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constantFrom('relabel', 'delete member', 'delete member', 'crash member'),
      set,
      member,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ what: fc.constant('scale set'), set, replicas: fc.integer({ min: 0, max: 8 }) }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('relabel back'), set }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('pause set'), set, paused: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('set template'), set, failsToStart: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('renew set'), set, isOrphaned: fc.boolean() }) },
);
const renewals: fc.Arbitrary<Happening> = fc.record({ what: fc.constant('renew'), pool, isOrphaned: fc.boolean() });

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
        'removeSickVm',
        'removeVms',
        'changePower',
        'patchMachineTypes',
        'beginTransitionRestarts',
        'createReplicas',
        'adoptVms',
        'releaseVms',
      ),
      fc.constantFrom(0, 0, 5_000, 30_000),
    )
    .map(([activity, ms]) => ({ [activity]: ms }));

const surges: fc.Arbitrary<Happening> = fc.record({
  what: fc.constant('rules'),
  pool,
  spec: fc.oneof(anySurge, fc.constant({ maxSurge: 0, maxUnavailable: 1 })),
});

const kinds = {
  wishes,
  powers,
  rules,
  people,
  transitions,
  accidents,
  evictions,
  faults,
  renewals,
  sets,
  surges,
  refusals,
};

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
