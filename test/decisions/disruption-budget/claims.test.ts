import { expect, test } from 'vitest';
import type { DisruptedVm } from '../../../api/pool/pool.ts';
import {
  ACT_WITHIN_MS,
  CLAIM_MS,
  claimedNames,
  hasOnlyReleasedClaims,
  activeClaims,
  type ClaimContext,
} from '../../../decisions/disruption-budget/claims.ts';
import { grantClaims, type ClaimRequest } from '../../../decisions/disruption-budget/grant-claims.ts';
import type { VmiOf } from '../../../decisions/health/availability.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import type { Evacuation } from '../../../decisions/views/evacuation.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { deadlineOf } from '../../../kubernetes/lib/deadline.ts';
import { aPool, aVm, aVmi, quiet } from '../fixtures/fleets.ts';

const AT = '2026-11-22T07:00:00.000Z';
const now = Date.parse(AT);
const never = (): boolean => false;

const claimOf = (vm: VmView, fields: Partial<DisruptedVm> = {}): DisruptedVm => ({
  vm: vm.name,
  vmi: aVmi(vm).uid,
  by: 'power/default/one',
  at: AT,
  ...fields,
});

interface Given {
  vms?: VmView[];
  vmiOf?: VmiOf;
  claims?: DisruptedVm[];
  maxUnavailable?: number;
  replicas?: number;
}

const three = ['web-1', 'web-2', 'web-3'].map((name) => aVm(name));
const [one, two, other] = three as [VmView, VmView, VmView];

function contextOf({
  vms = three,
  vmiOf = (vm) => aVmi(vm),
  claims = [],
  maxUnavailable = 1,
  replicas = 3,
}: Given = {}): ClaimContext {
  return { pool: { ...aPool({ replicas, maxUnavailable }), status: { replicas, disruptedVMs: claims } }, vms, vmiOf };
}

const ask = (vm: VmView, by = 'power/default/two', vmi = aVmi(vm)): ClaimRequest => ({ vm, vmi, by });

function answers(given: Given, ...asks: ClaimRequest[]): (string | null)[] {
  const context = contextOf(given);
  return grantClaims(
    context,
    activeClaims(context, never).map(({ claim }) => claim),
    asks,
    AT,
  ).answers;
}

const full = 'in pool shop/web, 1 VM is unavailable or in progress, and maxUnavailable allows 1';
const twoDown = full.replace('1 VM is', '2 VMs are');

test('claims are granted in the order of the requests, up to the budget', () => {
  expect(answers({}, ask(one), ask(two))).toEqual([null, full]);
  expect(answers({ maxUnavailable: 2 }, ask(one), ask(two), ask(other))).toEqual([
    null,
    null,
    'in pool shop/web, 2 VMs are unavailable or in progress, and maxUnavailable allows 2',
  ]);
});

test('a granted claim counts while nothing shows that the VM was disrupted', () => {
  expect(answers({ claims: [claimOf(one)] }, ask(two))).toEqual([full]);
  expect(answers({ claims: [claimOf(one)], maxUnavailable: 2 }, ask(two))).toEqual([null]);
});

test('a VM that is down by its claim counts once', () => {
  const vmiOf: VmiOf = (vm) => aVmi(vm, vm === one ? { deleting: true, ready: false } : {});
  expect(answers({ claims: [claimOf(one)], vmiOf }, ask(two))).toEqual([full]);
  expect(answers({ claims: [claimOf(one)], vmiOf, maxUnavailable: 2 }, ask(two))).toEqual([null]);
});

test('a claim ends when another VMI of its VM is ready, and not before', () => {
  const withNext =
    (ready: boolean): VmiOf =>
    (vm) =>
      aVmi(vm, vm === one ? { uid: 'next', ready } : {});
  expect(answers({ claims: [claimOf(one)], vmiOf: withNext(false) }, ask(two))).toEqual([full]);
  expect(answers({ claims: [claimOf(one)], vmiOf: withNext(true) }, ask(two))).toEqual([null]);
});

test('a claim ends when its VM is stopped, or when the pool does not miss the VM', () => {
  const stopped = aVm('web-1', { runStrategy: 'Halted', hasVmi: false, ready: false });
  expect(
    answers(
      { claims: [claimOf(one)], vms: [stopped, two, other], vmiOf: (vm) => (vm === stopped ? undefined : aVmi(vm)) },
      ask(two),
    ),
  ).toEqual([null]);
  expect(answers({ claims: [claimOf(one)], vms: [two, other], replicas: 2 }, ask(two))).toEqual([null]);
  expect(answers({ claims: [claimOf(one)], vms: [two, other] }, ask(two))).toEqual([full]);
});

test('a workflow that claims the same VM again keeps its claim; no other workflow can claim the VM while its VMI runs', () => {
  expect(answers({ claims: [claimOf(one)] }, ask(one, 'power/default/one'))).toEqual([null]);
  expect(answers({ claims: [claimOf(one)], maxUnavailable: 3 }, ask(one))).toEqual([
    'power/default/one is about to disrupt it',
  ]);
});

test('an existing claim does not permit a disruption once other VMs have failed', () => {
  const vms = [one, aVm('web-2', { ready: false }), other];
  const given = { claims: [claimOf(one)], vms };
  expect(answers(given, ask(one, 'power/default/one'))).toEqual([twoDown]);
  expect(answers({ ...given, maxUnavailable: 2 }, ask(one, 'power/default/one'))).toEqual([null]);
});

test('a VM with a ready VMI needs a claim like any other, though its own status does not say yet that it is ready', () => {
  const lagging = aVm('web-1', { ready: false });
  const vms = [lagging, aVm('web-2', { ready: false }), other];
  const askLagging = ask(lagging, undefined, aVmi(lagging, { ready: true }));
  expect(answers({ vms }, askLagging)).toEqual([twoDown]);
  expect(answers({ vms, maxUnavailable: 2 }, askLagging)).toEqual([null]);
});

test('a VM that is asked to restart counts, unless it was halted since: KubeVirt does not act on that request', () => {
  const asked = aVm('web-1', { changingState: true });
  expect(answers({ vms: [asked, two, other] }, ask(two))).toEqual([full]);
  const halted: VmView = { ...asked, runStrategy: 'Halted', hasVmi: false, ready: false };
  expect(
    answers({ vms: [halted, two, other], vmiOf: (vm) => (vm === halted ? undefined : aVmi(vm)) }, ask(two)),
  ).toEqual([null]);
});

test('a VM that is already down costs nothing, whichever workflow had claimed it', () => {
  const broken = aVm('web-1', { ready: false });
  const vms = [broken, aVm('web-2', { ready: false }), other];
  expect(answers({ vms, claims: [claimOf(broken, { vmi: 'gone' })] }, ask(broken))).toEqual([null]);
  expect(answers({ vms }, ask(other))).toEqual([twoDown]);
});

test('granted claims are written beside those of others, with the versions that they were read in', () => {
  const context = contextOf({ claims: [claimOf(one)], maxUnavailable: 2 });
  const { claims } = grantClaims(context, context.pool.status!.disruptedVMs!, [ask(two)], AT);
  expect(claims).toEqual([
    claimOf(one),
    claimOf(two, { by: 'power/default/two', minVersions: { vms: '1', vmis: '1' } }),
  ]);
});

test('no claim counts for longer than a minute', () => {
  const context = contextOf({ claims: [claimOf(one)] });
  expect(claimedNames(context, now + CLAIM_MS - 1)).toEqual(['web-1']);
  expect(claimedNames(context, now + CLAIM_MS)).toEqual([]);
  expect(claimedNames(contextOf({ claims: [claimOf(one, { at: 'nonsense' })] }), now)).toEqual([]);
});

test('a claim that a wrong clock dated into the future does not count for as long as that clock is ahead', () => {
  const context = (ms: number) => contextOf({ claims: [claimOf(one, { at: new Date(now + ms).toISOString() })] });
  expect(claimedNames(context(CLAIM_MS - 1), now)).toEqual(['web-1']);
  expect(claimedNames(context(3_600_000), now)).toEqual([]);
  // The local clock may be the wrong one, so it must not decide whether the claim has expired.
  expect(hasOnlyReleasedClaims(context(3_600_000), now)).toBe(false);
});

test('a plan begins no batch in a place that another workflow has claimed, and looks again soon', () => {
  const old = aVm('web-2', { revision: 'old' });
  const { pool } = contextOf({ claims: [claimOf(one)] });
  const input = { ...quiet, pool, vms: [one, old, other], burst: 250, now };
  const plan = planPool(input);
  expect(plan.steps.filter(({ kind }) => kind === 'update')).toEqual([]);
  expect(plan.requeueAt).toBeLessThanOrEqual(now + 2_000);
  expect(planPool({ ...input, now: now + CLAIM_MS }).steps.filter(({ kind }) => kind === 'update')).toHaveLength(1);
});

test('a status is written once more if it only still names spent claims', () => {
  const { pool, vms, vmiOf } = contextOf();
  const idle = { ...quiet, pool, vms, vmiOf, burst: 250, now };
  const { status } = planPool(idle);
  const input = { ...idle, rollout: status!.rollout! };
  const said = { ...pool, status: { ...status!, disruptedVMs: [] } };
  expect(planPool({ ...input, pool: said }).status).toBeNull();
  const released = { ...pool, status: { ...status!, disruptedVMs: [claimOf(one, { vmi: 'before' })] } };
  expect(hasOnlyReleasedClaims({ pool: released, vms, vmiOf }, now)).toBe(true);
  expect(planPool({ ...input, pool: released }).status?.writes).toBe(2);
});

test('a pool is planned again when its last claim expires, although nothing has used any claim', () => {
  const { pool, vms, vmiOf } = contextOf();
  const input = { ...quiet, pool, vms, vmiOf, burst: 250, now };
  const { status } = planPool(input);
  const claims = [claimOf(one, { at: new Date(now - 1_000).toISOString() }), claimOf(two)];
  const claimed = { ...pool, status: { ...status!, disruptedVMs: claims } };
  const { requeueAt: wakeAt } = planPool({ ...input, pool: claimed });
  // The worker that writes the status judges by a clock that may be a little behind.
  expect(wakeAt).toBe(now + CLAIM_MS + 5_000);
  expect(planPool({ ...input, pool: claimed, now: now + CLAIM_MS }).requeueAt).toBe(wakeAt);
  expect(planPool({ ...input, pool: claimed, now: wakeAt! }).status?.writes).toBe(2);
  expect(planPool({ ...input, pool: { ...pool, status: status! } }).requeueAt).toBeNull();
});

test('a claim for a migration ends with the migration, though the VMI is the same', () => {
  const claims = [claimOf(one, { migration: 2 })];
  const states = (evacuation: Partial<Evacuation> | null) => {
    const tried = { ended: 0, failures: 0, since: 0, begunAt: 0, endedAt: null, whyFailed: null };
    const sum: Evacuation = { attempt: 2, state: 'Unfinished', ...tried };
    const own = evacuation === null ? null : { ...sum, ...evacuation };
    const context = contextOf({ claims, vmiOf: (vm) => aVmi(vm, vm === one ? { evacuation: own } : {}) });
    return activeClaims(context, never).map(({ state }) => state);
  };
  expect(states(null)).toEqual(['unused']);
  expect(states({ attempt: 1, state: 'Failed' })).toEqual(['unused']);
  expect(states({})).toEqual(['used']);
  expect(states({ state: 'Succeeded' })).toEqual([]);
  expect(states({ state: 'Failed' })).toEqual([]);
  expect(states({ attempt: 3 })).toEqual([]);
});

test.each(['PUT', 'PATCH', 'DELETE', 'POST'])(
  'a %s that is sent under a claim ends before others get its place',
  (method) => {
    expect(ACT_WITHIN_MS + deadlineOf({ method })).toBeLessThan(CLAIM_MS);
  },
);
