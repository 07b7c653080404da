import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FailedVmis } from '../../../activities/cache/objects/failed-vmis.ts';
import {
  CHANGES_ANNOTATION,
  ROLLOUT_REQUEST_ANNOTATION,
  ROLLOUT_REQUESTED_BY_ANNOTATION,
} from '../../../api/labels-and-annotations.ts';
import { CAPS } from '../../../api/lib/caps.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { PoolStatus } from '../../../api/pool/status.ts';
import { changesOf, withChange } from '../../../decisions/changes/change-record.ts';
import { olderContent } from '../../../decisions/configuration/older-content.ts';
import { grantClaims } from '../../../decisions/disruption-budget/grant-claims.ts';
import { planDrain } from '../../../decisions/drain/plan.ts';
import { refusalsAfter } from '../../../decisions/drain/refusals.ts';
import { healingStatus } from '../../../decisions/healing/conditions.ts';
import { carried } from '../../../decisions/healing/refresh-state.ts';
import {
  noHealing,
  remembered,
  stateFrom,
  withHealingSignal,
  withTold as withAttemptTold,
  type Cycle,
  type HealingSignal,
  type HealingState,
} from '../../../decisions/healing/state.ts';
import { isFullOf } from '../../../decisions/machine-types/transition-tally.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import { withSignal, withTold, type RolloutSignal } from '../../../decisions/rollout/signals.ts';
import { RolloutContext } from '../../../decisions/rollout/state/context.ts';
import { deferredAfter, type DeferredVm } from '../../../decisions/rollout/state/deferred.ts';
import { withRolloutRequest } from '../../../decisions/rollout/state/rollout-request.ts';
import { addFailure } from '../../../decisions/runs/failures.ts';
import type { FailedVm } from '../../../decisions/runs/progress.ts';
import type { Content } from '../../../decisions/template/content.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { FailureBackoff } from '../../../workflows/owners/failure-backoff.ts';
import { aPool, aVm, aVmi, quiet } from '../../decisions/fixtures/fleets.ts';
import {
  at,
  fresh,
  NEW,
  NOW,
  OLD,
  old,
  plan,
  rolling,
  rolloutInput,
  type RolloutFields,
} from '../../decisions/fixtures/rollout-pools.ts';

const PROJECT = join(import.meta.dirname, '../../..');

type Cap = keyof typeof CAPS;

/** A cap for a test, and how much it is filled with. */
const SMALL = 5;
const FULL = 10 * SMALL;
const MINUTE = 60_000;
const numbers = Array.from({ length: FULL }, (_, index) => index + 1);
const nameOf = (n: number): string => `web-${n}`;

function within<T>(cap: Cap, most: number, run: () => T): T {
  const before = CAPS[cap];
  CAPS[cap] = most;
  try {
    return run();
  } finally {
    CAPS[cap] = before;
  }
}

/** `acts`: what is done with all of this in mind, one entry for each VM; `restarts`: a workflow may have begun anew. */
const subset =
  <Given>(given: fc.Arbitrary<Given>, acts: (given: Given, restarts: boolean) => readonly string[]) =>
  (cap: Cap): void =>
    fc.assert(
      fc.property(given, (facts) => {
        const free = within(cap, Number.MAX_SAFE_INTEGER, () => acts(facts, false));
        for (const restarts of [false, true])
          expect(free).toEqual(expect.arrayContaining([...within(cap, SMALL, () => acts(facts, restarts))]));
      }),
      { numRuns: 60 },
    );

const many = <Fact>(fact: fc.Arbitrary<Fact>): fc.Arbitrary<Fact[]> =>
  fc.array(fact, { minLength: FULL, maxLength: FULL });
const each = <Fact>(fact: fc.Arbitrary<Fact>): fc.Arbitrary<Fact[]> => fc.tuple(...numbers.map(() => fact));

// Rollouts.

const rolledOut = (fields: RolloutFields): string[] =>
  plan({ spec: { maxUnavailable: FULL }, ...fields }).update?.batch.vms.map(({ name, act }) => `${act} ${name}`) ?? [];

const IN_FLIGHT = { revision: NEW, rollout: NEW, vms: [], startedAt: NOW };

const anyFailures = fc.record({
  onFailure: fc.constantFrom('Pause', 'Undo', 'Continue'),
  maxFailures: fc.oneof(fc.constant(0), fc.nat(2 * SMALL)),
  isUndo: fc.boolean(),
  failed: many(
    fc.record({
      n: fc.integer({ min: 1, max: 2 * FULL }),
      wasDown: fc.boolean(),
      isBack: fc.nat(20).map((one) => one === 0),
    }),
  ),
});
type Failures = typeof anyFailures extends fc.Arbitrary<infer T> ? T : never;

function afterFailures({ onFailure, maxFailures, isUndo, failed }: Failures): string[] {
  const halted = { kind: 'Undoing', by: 'drover', at: at(NOW - 30_000) } as const;
  const told = (isBack: boolean): RolloutSignal[] =>
    failed
      .filter((one) => one.isBack === isBack)
      .map(({ n, wasDown }) => ({
        kind: 'fail',
        revision: isBack ? OLD : NEW,
        failures: [
          { vm: nameOf(n), message: 'x', at: at(NOW - (isBack ? 5_000 : 50_000)), ...(wasDown && { wasDown }) },
        ],
      }));
  const forward = told(false).reduce(withSignal, rolling());
  const state = isUndo ? told(true).reduce(withSignal, { ...forward, halted }) : forward;
  const make = isUndo ? fresh : old;
  const vms = numbers.map((n) => make(n, { createdAt: NOW - 3_600_000 }));
  return rolledOut({ vms, state, spec: { maxUnavailable: FULL, rollout: { onFailure, maxFailures } } });
}

function afterDeferrals(batches: { n: number; ago: number }[]): string[] {
  const ended = batches.toSorted((a, b) => b.ago - a.ago);
  const all = ended.reduce<{ deferred: DeferredVm[]; notBefore: number }>(
    ({ deferred, notBefore }, { n, ago }) => {
      const outcomes = [{ vm: nameOf(n), end: 'Deferred', isOwn: true } as const];
      const next = deferredAfter(deferred, { revision: NEW, vms: [], outcomes }, NOW - ago);
      return { deferred: next.deferred, notBefore: Math.max(notBefore, next.notBefore) };
    },
    { deferred: [], notBefore: 0 },
  );
  return rolledOut({ vms: numbers.map((n) => old(n)), ...all });
}

const anySignals = many(
  fc.oneof(
    fc.constantFrom<RolloutSignal>({ kind: 'pause', at: at(NOW) }, { kind: 'resume' }),
    fc.nat(FULL).map((n): RolloutSignal => {
      return { kind: 'fail', revision: NEW, failures: [{ vm: nameOf(n), message: 'x', at: at(NOW) }] };
    }),
  ),
);
const anyAttempts = many(
  fc.record({ n: fc.integer({ min: 1, max: FULL }), kind: fc.constantFrom('ended', 'removed', 'lost') }),
);

// Healing.

const RULES = { unhealthyAfter: { notReady: '10m' }, minFailingToStartDuration: '5m', maxUnhealthy: '100%' } as const;
const heals = (vms: VmView[], healing: HealingState, fields: Partial<PoolPlanInput> = {}) =>
  planPool({
    ...quiet,
    burst: 250,
    now: NOW,
    pool: aPool({ replicas: vms.length, autohealing: { startupFailureThreshold: 3, ...RULES } }),
    vms,
    healing,
    ...fields,
  }).healing;
/** Attempts that are begun again look again, and do nothing twice. */
const healed = (...given: Parameters<typeof heals>): string[] =>
  heals(...given)
    .begin.filter(({ isAgain }) => !isAgain)
    .map(({ unhealthyVm }) => unhealthyVm.name);
const well = (n: number, fields: Partial<VmView> = {}): VmView =>
  aVm(nameOf(n), { createdAt: NOW - 600 * MINUTE, notYetRun: null, ...fields });
const sick = (n: number): VmView =>
  well(n, { ready: false, state: 'CrashLoopBackOff', startFailures: 3, notReadySince: NOW - 60 * MINUTE });
const unready = { ready: false, scheduledAt: NOW - 500 * MINUTE } as const;
const uidOf = (n: number): string => well(n).uid;
const cycle = (n: number): Cycle => ({
  vm: nameOf(n),
  uid: uidOf(n),
  attempt: 1,
  phase: 'Removing',
  message: 'it fails',
  startedAt: at(NOW - MINUTE),
  run: { state: 'Running', since: NOW - MINUTE },
});
const began = (healing: HealingState): HealingState =>
  stateFrom(healingStatus({ state: healing, suspended: null, notReplaced: [], notListed: 0 }));

const anyEnds = each(fc.constantFrom('GivenUp', 'Skipped', 'Refused', 'Healed', 'Left'));
const anyWatched = each(fc.record({ count: fc.nat(4), since: fc.nat(10), failures: fc.nat(2) }));
/** Minutes since the pause was over; null: it lasted until just now. */
const anyPauses = each(fc.option(fc.nat(30)));

function afterPauses(pauses: (number | null)[], restarts: boolean): string[] {
  const vmiPauses = pauses.map((ago, index) => {
    return { vmUid: uidOf(index + 1), endedAt: ago === null ? null : NOW - ago * MINUTE };
  });
  const known = carried({ ...noHealing, vmiPauses });
  const vms = numbers.map((n) => well(n, { ready: false, state: 'Running', notReadySince: NOW - 60 * MINUTE }));
  return healed(vms, restarts ? began(known) : known, { vmiOf: (vm) => aVmi(vm, unready) });
}

// Contents of Secrets, one for each VM.

const template: PoolSpec['template'] = {
  spec: {
    runStrategy: 'Always',
    template: { spec: { domain: {}, volumes: [{ name: 'key', secret: { secretName: 'key' } }] } },
  },
};
const anyContents = each(fc.record({ written: fc.integer({ min: 0, max: 30 }), isJudged: fc.boolean() }));

const ofAnyRevision = (vm: VmView): VmiView => aVmi(vm, { revision: 'r' });

/** VMs that started an hour ago: what was written since has not changed, where that was judged. */
function afterWrites(writes: { written: number; isJudged: boolean }[], restarts: boolean): string[] {
  const spec = { template, nameGeneration: { appendPostfixToSecretReferences: true }, replicas: FULL };
  const pool = aPool({ ...spec, rollout: { onConfigChange: 'Restart' } });
  const vms = numbers.map((n) => well(n, { createdAt: NOW - 60 * MINUTE }));
  const contentOf = (name: string, isKnown: boolean): Content => {
    const { written, isJudged } = writes[Number(name.slice('key-'.length)) - 1]!;
    const writtenAt = NOW - written * MINUTE;
    const changedAt = isKnown && isJudged ? NOW - 600 * MINUTE : writtenAt;
    return { kind: 'Secret', name, writtenAt, changedAt, same: [] };
  };
  const seen = (isKnown: boolean, contents: PoolStatus['contents']) =>
    olderContent({
      pool: { ...pool, status: { replicas: FULL, contents: contents ?? [] } },
      vms,
      vmiOf: ofAnyRevision,
      templateOf: () => poolTemplate(pool.spec),
      contents: { of: ({ name }) => contentOf(name, isKnown) },
    });
  const next = seen(restarts, seen(true, []).judged());
  return vms.flatMap((vm) => (next.changeFor(vm, ofAnyRevision(vm)) === null ? [] : [vm.name]));
}

// All others.

function afterRefusals(names: number[]): string[] {
  const backoff = new FailureBackoff();
  for (const n of names) backoff.failed('FailedCreate', 'no', { names: [nameOf(n)], isGeneral: false }, 1);
  const { steps } = planPool({
    ...quiet,
    burst: 250,
    pool: aPool({ replicas: 2 * FULL }),
    vms: [],
    backoffs: backoff.backoffs(() => false),
  });
  return steps.flatMap((step) => (step.kind === 'create' ? step.numbers.map(String) : []));
}

const requested = (id: string, action: string): Record<string, string> => ({
  [ROLLOUT_REQUEST_ANNOTATION]: JSON.stringify({ id, action }),
  [ROLLOUT_REQUESTED_BY_ANNOTATION]: 'ada',
});

/** What the request that stands on the pool does once it is answered. */
function afterRequests(actions: string[]): string[] {
  const input = rolloutInput({ vms: [old(1)] });
  const asked = actions.map((action, index) => {
    const pool = { ...input.pool, metadata: { ...input.pool.metadata, annotations: requested(`${index}`, action) } };
    return new RolloutContext({ ...input, pool });
  });
  const state = asked.reduce((before, context) => withRolloutRequest(context, before), rolling());
  return withRolloutRequest(asked.at(-1)!, state) === state ? [] : ['answered again'];
}

const drained = { evictionStrategy: 'External', evacuationNode: 'node-1', node: 'node-1', nodeDrained: true };

/** `due`: in how many seconds each VM may be tried again. */
function afterEvacuations(due: number[]): string[] {
  const refusals = due.reduce(
    (before, _due, index) => {
      const vm = nameOf(index + 1);
      const one = { vm, uid: `vmi-of-${uidOf(index + 1)}`, reason: 'Refused', message: 'no' } as const;
      return refusalsAfter(before, { tried: [vm], notMoved: [one] }, NOW);
    },
    refusalsAfter([], { tried: [], notMoved: [] }, NOW),
  );
  const waiting = refusals.map((one, index) => ({ ...one, notBefore: NOW + due[index]! * 1000 }));
  const vms = [...numbers, FULL + 1].map((n) => well(n));
  const pool = aPool({ replicas: vms.length, maxUnavailable: vms.length, drain: {} });
  const input = { pool, vms, vmiOf: (vm: VmView) => aVmi(vm, drained), acting: [], busy: new Map(), now: NOW };
  return planDrain({ ...input, refusals: waiting }).evacuate.map(({ name }) => name);
}

function afterClaims(): string[] {
  const vms = numbers.map((n) => well(n));
  const context = { pool: aPool({ maxUnavailable: FULL, replicas: FULL }), vms, vmiOf: quiet.vmiOf };
  const asks = vms.map((vm) => ({ vm, vmi: quiet.vmiOf(vm), by: 'test' }));
  const { answers } = grantClaims(context, [], asks, at(NOW));
  return vms.flatMap(({ name }, index) => (answers[index] === null ? [name] : []));
}

const undone = (ids: number[]): string[] =>
  changesOf({
    [CHANGES_ANNOTATION]: ids.reduce(
      (text, id) =>
        withChange({ [CHANGES_ANNOTATION]: text }, {
          id: `${id}`,
          operation: 'o',
          at: at(NOW),
          by: 'ada',
          need: null,
          edits: [],
        } as never)!,
      '{"changes":[]}',
    ),
  }).map(({ id }) => id);

function afterFailedVmis(ran: number[]): string[] {
  const failed = new FailedVmis();
  const vm = well(1, { ready: false, state: 'Starting', notReadySince: NOW - MINUTE });
  for (const [index, seconds] of ran.entries()) {
    const endedAt = NOW - (FULL - index) * MINUTE;
    const times = { createdAt: endedAt - 30_000, runningSince: endedAt - seconds * 1000, endedAt };
    failed.add(aVmi(vm, { uid: `vmi-${index}`, phase: 'Failed', probationMs: 20_000, ...times }), NOW);
  }
  const spec = { replicas: 1, autohealing: { ...RULES, startupFailureThreshold: 2 * SMALL }, template };
  return healed([vm], noHealing, { pool: aPool(spec), failedVmisOf: (one) => failed.of(one) });
}

const failedOf = (ns: number[]): FailedVm[] => {
  const failed: FailedVm[] = [];
  for (const n of ns) addFailure(failed, { vm: nameOf(n), message: 'it failed' });
  return failed;
};

const some = many(fc.integer({ min: 1, max: FULL }));
const someRequests = many(fc.constantFrom('pause', 'resume'));

/** Each cap by its name: filled with ten times as much, nothing is done that is not done without it. */
const PROPERTIES: Record<Cap, (cap: Cap) => void> = {
  failures: subset(anyFailures, afterFailures),
  failureMessages: subset(anyFailures, afterFailures),
  batches: subset(many(fc.constant(1)), (all) =>
    rolledOut({ vms: numbers.map((n) => old(n)), batches: all.map((_, index) => ({ ...IN_FLIGHT, n: index + 1 })) }),
  ),
  deferred: subset(many(fc.record({ n: fc.integer({ min: 1, max: FULL }), ago: fc.nat(2_000) })), afterDeferrals),
  healingCycles: subset(some, (ns) => healed([...new Set(ns)].map(sick), noHealing)),
  healingEnds: subset(anyEnds, (ends) => {
    const finished = ends.reduce<HealingState['finished']>((before, end, index) => {
      const one = { vm: nameOf(index + 1), uid: uidOf(index + 1), attempts: 3, end, message: '' };
      return remembered(before, { ...one, at: at(NOW - 1000) });
    }, []);
    const vms = [...numbers, FULL + 1].map(sick);
    const pool = aPool({ replicas: vms.length, autohealing: { ...RULES, maxAttempts: 3 } });
    return healed(vms, { ...noHealing, finished }, { pool });
  }),
  vmsWatched: subset(anyWatched, (watched) => {
    const of = watched.map((one, index) => ({ vmUid: uidOf(index + 1), vmis: [], endedAt: NOW - MINUTE, ...one }));
    const failing = of.map(({ vmUid, since }) => ({ vmUid, since: NOW - since * MINUTE }));
    const vms = watched.map(({ failures: startFailures }, index) =>
      well(index + 1, { ready: false, state: 'Starting', startFailures, notReadySince: NOW - MINUTE }),
    );
    return healed(vms, carried({ ...noHealing, earlyExits: of, failing }));
  }),
  vmiPauses: subset(anyPauses, afterPauses),
  refusedEvacuations: subset(each(fc.integer({ min: -10, max: 10 })), afterEvacuations),
  refusedNames: subset(some, afterRefusals),
  contents: subset(anyContents, afterWrites),
  signals: (cap) => {
    subset(anySignals, (signals) =>
      rolledOut({
        vms: numbers.map((n) => old(n)),
        state: signals.reduce<RolloutSignal[]>(withTold, []).reduce(withSignal, rolling()),
        spec: { maxUnavailable: FULL, rollout: { maxFailures: 2 * SMALL } },
      }),
    )(cap);
    subset(anyAttempts, (attempts) => {
      const told = attempts.map(({ n, kind }): HealingSignal => {
        const id = cycle(n);
        if (kind === 'ended') return { kind, id, outcome: { end: 'Refused', message: 'no' } };
        return kind === 'removed'
          ? { kind, id, removed: { keptDisks: false, nextAt: at(NOW) } }
          : { kind: 'lost', id, run: 'Unknown' };
      });
      const state = { ...noHealing, cycles: numbers.map(cycle) };
      return healed(
        numbers.map(sick),
        told.reduce<HealingSignal[]>(withAttemptTold, []).reduce(withHealingSignal, state),
      );
    })(cap);
  },
  handledRequests: subset(someRequests, afterRequests),
  claims: subset(fc.constant(0), afterClaims),
  roles: (cap) => {
    const roles = Array.from({ length: 10 * CAPS[cap] }, (_, n) => ({ vm: nameOf(n), role: 'Surge', at: at(NOW) }));
    expect(PoolStatus.safeParse({ replicas: 1, roles: roles.slice(0, CAPS[cap]) }).success).toBe(true);
    expect(PoolStatus.safeParse({ replicas: 1, roles }).success).toBe(false);
  },
  changes: subset(some, undone),
  failedVmis: subset(many(fc.integer({ min: 1, max: 30 })), afterFailedVmis),
  failureReasons: subset(some, (ns) => failedOf(ns).map(({ vm }) => vm)),
  transitionFailures: subset(some, (ns) => (isFullOf(failedOf(ns)) ? [] : ['continues'])),
};

describe('what is full', () => {
  test.each(Object.keys(CAPS) as Cap[])('permits nothing that a longer list would not: %s', (cap) => {
    PROPERTIES[cap](cap);
  });
});

/** Limits by which nothing is forgotten that a plan goes by. */
const NO_MEMORY = {
  'a text, or a list that people read': [
    'activities/healing/last-events.ts: MAX_EVENTS',
    'activities/rollout/update-vms.ts: FEW',
    'decisions/changes/refused.ts: MAX_PATHS',
    'decisions/changes/refused.ts: MAX_SHAPES',
    'decisions/membership/membership-request.ts: MOST_MOVED',
    'decisions/owners/stalled.ts: SHOWN_KEYS',
    'decisions/runs/namespaces.ts: MAX_BYTES',
    'decisions/runs/skipped.ts: EXCLUDED_NAMES',
    'decisions/runs/skipped.ts: MAX_NAMES',
    'decisions/runs/skipped.ts: MAX_REASONS',
    'workflows/lib/ids.ts: LONGEST_ID',
    'workflows/owners/failure-backoff.ts: ERRORS_KEPT',
    'workflows/replica-sets/details.ts: MAX_NAMES',
  ],
  'as much as is done at once: the next plan does the rest': [
    'activities/disruption-budget/claim-queues.ts: TOGETHER',
    'activities/disruption-budget/disruption-claims.ts: MOST_REFRESHED',
    'activities/disruption/wave.ts: MOST_OUTCOMES',
    'decisions/disks/reuse.ts: MAX_DISKS',
    'decisions/drain/plan.ts: MAX_AT_ONCE',
    'decisions/machine-types/plan.ts: MAX_TO_CHANGE',
    'decisions/membership/labels.ts: MAX_VMS',
    'decisions/membership/roles.ts: MAX_VMS',
    'decisions/rollout/next-batch.ts: MAX_IN_BATCH',
  ],
  'a cache: what it has forgotten is read, or asked for, again': [
    'activities/cache/objects/expansions.ts: MOST',
    'activities/machine-types/other-transitions.ts: MOST_KNOWN',
    'activities/operations/status-reports.ts: OPERATIONS_KEPT',
    'activities/power/chosen-vms.ts: RUNS_KEPT',
    'activities/rollout/batch-cache.ts: RUNS_KEPT',
    'decisions/from-object/intern-parts.ts: MAX_KEPT',
    'decisions/from-object/intern.ts: MAX_KEPT',
    'decisions/shards/portion.ts: MOST_HASHES',
  ],
  'what is longer is refused': [
    'decisions/changes/change-record.ts: MOST_BYTES',
    'decisions/changes/why-no-change.ts: MAX_PATCH',
  ],
  'turns: what finds none waits all the same': ['decisions/disruption-budget/any-vms/turns.ts: MAX_WAITERS'],
  'as many as it takes': ['decisions/pool/contention.ts: TIMES'],
  'as much as the API server remembers': ['activities/configuration/judged-content.ts: MAX_CHAPTERS'],
};

/** Matches how much of a list is kept, and when one is too long. */
const BOUND =
  /\.(?:slice|splice)\((?:0, )?-?([A-Z][A-Z_]+)\b(?!\.length)|\.slice\(-([2-9]|\d\d+)\)|(?:length|size) >=? ([A-Z][A-Z_]+)\b/g;

test('a list that is cut short has its cap, and so a property, or is no memory', () => {
  const found = ['decisions', 'workflows', 'activities'].flatMap((room) =>
    readdirSync(join(PROJECT, room), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) =>
        [...readFileSync(join(PROJECT, room, file), 'utf8').matchAll(BOUND)].map(
          ([, cut, last, most]) => `${room}/${file}: ${cut ?? last ?? most}`,
        ),
      ),
  );
  expect(found.filter((one) => one.endsWith(': CAPS')).length).toBeGreaterThan(10);
  const others = found.filter((one) => !/: (CAPS|\w*LENGTH|\w*SHOWN|\w*LISTED|\w*NAMED)$/.test(one));
  expect([...new Set(others)].toSorted()).toEqual(Object.values(NO_MEMORY).flat().toSorted());
});
