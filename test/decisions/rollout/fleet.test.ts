import fc from 'fast-check';
import { test } from 'vitest';
import type {
  Autohealing,
  MaintenanceWindow,
  PoolSpec,
  RolloutStep,
  UpdateStrategy,
  VmTemplate,
} from '../../../api/pool/pool.ts';
import { ModelFleet, type Happening, type Scenario } from '../model/fleet.ts';
import { aStep } from '../model/rollout-pools.ts';

/** Usually absent. */
const seldom = <T>(value: fc.Arbitrary<T>, weight = 4): fc.Arbitrary<T | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight }, { arbitrary: value, weight: 1 });
const seen = <T extends object>(record: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };

/** Few values each, so that templates differ in everything, only in what needs no restart, or in nothing. */
const anyTemplate: fc.Arbitrary<VmTemplate> = fc
  .record({
    runStrategy: fc.oneof(
      { arbitrary: fc.constant('Always'), weight: 8 },
      fc.constantFrom('Manual', 'RerunOnFailure', 'Once', 'Halted'),
    ),
    cores: fc.constantFrom(1, 2, 3),
    sockets: fc.oneof({ arbitrary: fc.constant(1), weight: 2 }, fc.constantFrom(2, 3)),
    color: fc.constantFrom('red', 'blue'),
    disk: seldom(fc.constant('10Gi'), 8),
  })
  .map(({ runStrategy, cores, sockets, color, disk }): VmTemplate => ({
    spec: {
      runStrategy,
      ...(disk === undefined
        ? {}
        : {
            dataVolumeTemplates: [
              { metadata: { name: 'root' }, spec: { storage: { resources: { requests: { storage: disk } } } } },
            ],
          }),
      template: { metadata: { labels: { color } }, spec: { domain: { cpu: { cores, sockets } } } },
    },
  }));

const anyMax = fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constantFrom('10%', '25%', '50%', '100%'));

const anySteps = fc
  .tuple(
    fc.uniqueArray(fc.constantFrom(1, 2, 4), { minLength: 1, maxLength: 2 }),
    fc.array(fc.constantFrom<RolloutStep['then']>({ wait: '5s' }, { wait: '2m' }, { approval: {} }), {
      minLength: 2,
      maxLength: 2,
    }),
  )
  .map(([to, then]) => to.toSorted((one, other) => one - other).map((count, index) => aStep(count, then[index])));

const anyRollout: fc.Arbitrary<NonNullable<PoolSpec['rollout']>> = fc
  .record({
    steps: seldom(anySteps, 2),
    minReadySeconds: seldom(fc.constantFrom(1, 5)),
    progressDeadlineSeconds: fc.constantFrom(2, 10, 60),
    onFailure: seldom(fc.constantFrom('Pause', 'Undo', 'Continue'), 1),
    maxFailures: seldom(fc.integer({ min: 0, max: 3 })),
    windows: seldom(fc.constant<MaintenanceWindow[]>([{ cron: '*/5 * * * *', duration: '1m' }]), 8),
  })
  .map(seen);

const anyProactive: fc.Arbitrary<UpdateStrategy> = fc
  .record({
    disruption: seldom(fc.constantFrom('None', 'Live', 'Restart', 'Replace'), 3),
    selectionPolicy: seldom(fc.record({ basePolicy: fc.constantFrom('Oldest', 'Newest') })),
  })
  .map((proactive) => ({ proactive: seen(proactive) }));

const anySpec: fc.Arbitrary<Scenario['spec']> = fc
  .record({
    replicas: fc.integer({ min: 1, max: 9 }),
    maxUnavailable: seldom(anyMax, 1),
    rollout: anyRollout,
    updateStrategy: fc.oneof(
      { arbitrary: anyProactive, weight: 8 },
      fc.constantFrom<UpdateStrategy>({ opportunistic: {} }, { unmanaged: {} }),
    ),
  })
  .map(seen);

/** Healing gives up on every VM in the end: with a VM that fails forever, the model would not end. */
const anyHealing: fc.Arbitrary<Autohealing> = fc
  .record({
    startupFailureThreshold: seldom(fc.constantFrom(1, 2), 1),
    minFailingToStartDuration: seldom(fc.constantFrom('1s', '4s')),
    unhealthyAfter: seldom(fc.record({ notReady: fc.constantFrom('2s', '20s') }), 1),
    backoff: fc.constantFrom({ initial: '1s', max: '5s' }, { initial: '10s', jitter: 0 }, { initial: '0s' }),
    maxAttempts: fc.integer({ min: 1, max: 3 }),
    maxConcurrent: seldom(anyMax),
    maxUnhealthy: fc.oneof({ arbitrary: fc.constant('100%'), weight: 2 }, anyMax),
    preserveStorage: seldom(fc.boolean(), 1),
  })
  .map(seen);

const vm = fc.nat(8);
const on = fc.boolean();
const changes: fc.Arbitrary<Happening> = fc.record({ what: fc.constant('template'), index: fc.nat(3) });
const asks: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({ what: fc.constantFrom('pause', 'resume', 'resume', 'abort') }),
  fc.record({ what: fc.constant('promote'), full: fc.boolean() }),
);
const crashes: fc.Arbitrary<Happening> = fc.record({ what: fc.constantFrom('crash', 'stumble'), vm });
const healing: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({ what: fc.constantFrom('heal pause', 'heal resume') }),
  fc.record({ what: fc.constantFrom('heal now', 'heal skip', 'heal lose', 'heal cancel'), vm }),
);
const edits: fc.Arbitrary<Happening> = fc
  .oneof(
    fc.record({ replicas: fc.integer({ min: 0, max: 9 }) }),
    fc.record({ maxUnavailable: anyMax }),
    fc.record({ paused: fc.boolean() }),
    fc.record({ rollout: anyRollout }),
  )
  .map((spec: Partial<PoolSpec>) => ({ what: 'spec', spec }));
const people: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({ what: fc.constantFrom('stop', 'start', 'delete', 'detach', 'shut down'), vm }),
  fc.record({ what: fc.constantFrom('opt out', 'snapshot', 'migrate', 'pause VMI'), vm, on }),
);

/** Close together, or far apart. */
const anyGap = fc.oneof(fc.nat(300), fc.nat(8_000));

const happenings = (...kinds: fc.Arbitrary<Happening>[]): fc.Arbitrary<Scenario['happenings']> =>
  // The first event is a change: without one, there is nothing to see.
  fc
    .tuple(changes, fc.array(fc.tuple(fc.oneof(...kinds), anyGap), { maxLength: 20 }))
    .map(([first, rest]) => [{ ...first, after: 100 }, ...rest.map(([happening, after]) => ({ ...happening, after }))]);

const anyScenario = (kinds: fc.Arbitrary<Scenario['happenings']>, spec = anySpec): fc.Arbitrary<Scenario> =>
  fc.record({
    seed: fc.integer(),
    templates: fc.array(anyTemplate, { minLength: 2, maxLength: 4 }),
    failing: fc.array(fc.oneof({ arbitrary: fc.constant(0), weight: 3 }, fc.constantFrom(0.3, 1)), {
      minLength: 4,
      maxLength: 4,
    }),
    spec,
    strategy: fc.constantFrom('Stage', 'LiveUpdate'),
    burst: fc.constantFrom(2, 250, 250),
    lag: fc.constantFrom(0, 0, 200),
    deaths: fc.boolean(),
    happenings: kinds,
  });

/**
 * The same fleets in every run of the suite, so that a failure means a change and not bad luck. With `RUNS=10000`,
 * other fleets each time.
 */
const FLEETS = process.env['RUNS'] === undefined ? { seed: Number(process.env['SEED'] ?? 1) } : {};

/** To reproduce a failure, use the seed and path that it names. `MODEL_TELLS=1` adds the events that led to it. */
test.each<[string, fc.Arbitrary<Scenario['happenings']>]>([
  ['only the template changes', happenings(changes)],
  ['people steer', happenings(changes, asks)],
  ['VMIs crash', happenings(crashes, crashes, changes, asks)],
  ['anything happens', happenings(changes, asks, crashes, edits, people, people)],
])(
  'a rollout keeps its rules and ends, whatever the fleet, where %s',
  (_what, kinds) => {
    const runs = Number(process.env['RUNS'] ?? 60);
    fc.assert(
      fc.property(anyScenario(kinds), (scenario) => void new ModelFleet(scenario).run()),
      { ...FLEETS, numRuns: runs },
    );
  },
  300_000,
);

const healedSpec = fc
  .tuple(anySpec, anyHealing)
  .map(([spec, autohealing]): Scenario['spec'] => ({ ...spec, autohealing }));

test.each<[string, fc.Arbitrary<Scenario['happenings']>]>([
  ['only the template changes', happenings(changes)],
  ['VMIs crash', happenings(crashes, crashes, crashes, changes)],
  ['people steer', happenings(crashes, crashes, changes, asks, healing)],
  ['anything happens', happenings(changes, asks, crashes, crashes, edits, people, healing)],
])(
  'a rollout and healing share the budget, never hold the same VM, and end, whatever the fleet, where %s',
  (_what, kinds) => {
    const runs = Number(process.env['RUNS'] ?? 60);
    fc.assert(
      fc.property(anyScenario(kinds, healedSpec), (scenario) => void new ModelFleet(scenario).run()),
      { ...FLEETS, numRuns: runs },
    );
  },
  300_000,
);

/** Pools that make extra VMs; with `maxUnavailable: 0`, no VM goes down before another has come up. */
const anySurge: fc.Arbitrary<Partial<PoolSpec>> = fc
  .record({ maxSurge: anyMax, alone: fc.boolean() })
  .map(({ maxSurge, alone }) => ({ maxSurge, ...(alone ? { maxUnavailable: 0 } : {}) }));
const surgingSpec = fc
  .tuple(anySpec, anySurge, seldom(anyHealing))
  .map(([spec, surge, autohealing]): Scenario['spec'] => ({ ...spec, ...surge, ...seen({ autohealing }) }));
const surgeEdits: fc.Arbitrary<Happening> = fc
  .oneof(anySurge, fc.constant<Partial<PoolSpec>>({ maxSurge: 0, maxUnavailable: 1 }))
  .map((spec) => ({ what: 'spec', spec }));

test.each<[string, fc.Arbitrary<Scenario['happenings']>]>([
  ['only the template changes', happenings(changes)],
  ['people steer', happenings(changes, asks)],
  ['VMIs crash', happenings(crashes, crashes, changes, asks)],
  ['anything happens', happenings(changes, asks, crashes, edits, surgeEdits, people, people, healing)],
])(
  'extra VMs stand in for others, are never too many, and go in the end, whatever the fleet, where %s',
  (_what, kinds) => {
    const runs = Number(process.env['RUNS'] ?? 60);
    fc.assert(
      fc.property(anyScenario(kinds, surgingSpec), (scenario) => void new ModelFleet(scenario).run()),
      { ...FLEETS, numRuns: runs },
    );
  },
  300_000,
);

const withSockets = (sockets: number): VmTemplate => ({
  spec: {
    runStrategy: 'Always',
    template: { metadata: { labels: { color: 'red' } }, spec: { domain: { cpu: { cores: 1, sockets } } } },
  },
});

test('a VM whose healing people skip is recreated at once, though its attempt has not heard of that yet', () => {
  new ModelFleet({
    seed: 0,
    templates: [withSockets(2), withSockets(1)],
    failing: [0, 0, 0, 0],
    spec: {
      replicas: 2,
      rollout: {
        steps: [aStep(1, { wait: '5s' })],
        minReadySeconds: 1,
        progressDeadlineSeconds: 2,
        windows: [{ cron: '*/5 * * * *', duration: '1m' }],
      },
      updateStrategy: { opportunistic: {} },
      autohealing: {
        unhealthyAfter: { notReady: '2s' },
        backoff: { initial: '1s', max: '5s' },
        maxAttempts: 1,
        maxUnhealthy: '100%',
        preserveStorage: false,
      },
    },
    strategy: 'Stage',
    burst: 2,
    lag: 0,
    deaths: false,
    happenings: [
      { what: 'template', index: 0, after: 100 },
      { what: 'stumble', vm: 0, after: 1063 },
      { what: 'crash', vm: 0, after: 2364 },
      { what: 'template', index: 3, after: 0 },
      { what: 'heal skip', vm: 6, after: 290 },
      { what: 'template', index: 3, after: 4 },
    ],
  }).run();
});
