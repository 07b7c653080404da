import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MEMBERSHIP_CHANGE_ANNOTATION } from '../../../api/names.ts';
import {
  changeAnnotation,
  correctionOf,
  isSameChange,
  type MembershipChange,
} from '../../../decisions/membership/change.ts';
import { SILENCE_MS } from '../../../decisions/membership/silent-change.ts';
import { planPool, type PoolPlan } from '../../../decisions/pool/plan.ts';
import { aPool, aVm, quiet } from '../fixtures/fleets.ts';

const BEGAN = Date.parse('2026-01-02T03:04:05Z');
const asked = { by: 'ada', at: new Date(BEGAN).toISOString() };
const vms = [{ name: 'web-7', uid: 'uid-of-web-7' }];
const plan = (change: MembershipChange, now: number): PoolPlan =>
  planPool({
    pool: aPool({}, { annotations: changeAnnotation(change) }),
    vms: [aVm('web-1')],
    ...quiet,
    burst: 250,
    now,
  });
const marks = ({ steps }: PoolPlan): string[] =>
  steps.flatMap((step) => (step.kind === 'endMembershipChange' ? [step.mark] : []));
const said = ({ status }: PoolPlan): string | undefined =>
  status?.conditions?.find(({ type }) => type === 'MembershipChanging')?.message;

test.each(['adopt', 'detach'] as const)(
  'the pool goes on without a command of %s that says nothing for minutes',
  (kind) => {
    const change = { kind, vms, replicas: 1, ...asked };
    const held = plan(change, BEGAN + SILENCE_MS - 1);
    expect(marks(held)).toEqual([]);
    expect(held.wakeAt).toBe(BEGAN + SILENCE_MS);
    expect(said(held)).toContain('run it again, or wait: 5 minutes after its last report the pool goes on without it');
    expect(marks(plan(change, BEGAN + SILENCE_MS))).toEqual([changeAnnotation(change)[MEMBERSHIP_CHANGE_ANNOTATION]]);

    const reported = { ...change, reportedAt: new Date(BEGAN + 60_000).toISOString() };
    expect(marks(plan(reported, BEGAN + SILENCE_MS))).toEqual([]);
    expect(plan(reported, BEGAN + SILENCE_MS).wakeAt).toBe(BEGAN + 60_000 + SILENCE_MS);
    expect(isSameChange(change, reported)).toBe(true);
    expect(isSameChange(change, { ...change, by: 'bob' })).toBe(false);
  },
);

test('a report from the future holds the pool no longer than one of now', () => {
  const change = { kind: 'adopt', vms, replicas: 1, ...asked } as const;
  const ahead = (ms: number): PoolPlan => plan({ ...change, reportedAt: new Date(BEGAN + ms).toISOString() }, BEGAN);
  expect(marks(ahead(SILENCE_MS))).toEqual([]);
  expect(marks(ahead(SILENCE_MS + 1))).toHaveLength(1);
  expect(marks(ahead(10 * 365 * 24 * 3_600_000))).toHaveLength(1);
});

test.each([
  ['takeover', 'run `drover takeover vmpool web` again, or `drover release pool web` to go back'],
  ['release', 'run `drover release pool web` again'],
] as const)('a %s whose command was killed is left to people, and the pool says what to do', (kind, words) => {
  const held = plan({ kind, kubevirtUid: 'uid', ...asked }, BEGAN + 10 * SILENCE_MS);
  expect(marks(held)).toEqual([]);
  expect(held.steps.map((step) => step.kind)).not.toContain('create');
  expect(said(held)).toContain(words);
});

test('whatever has moved, the pool wants as many VMs more or less as have come or left', () => {
  fc.assert(
    fc.property(
      fc.array(fc.boolean(), { minLength: 1 }),
      fc.boolean(),
      fc.constantFrom('adopt', 'detach'),
      (moved, counts, kind) => {
        const named = moved.map((_, index) => ({ name: `web-${index}`, uid: `uid-${index}` }));
        const sign = kind === 'adopt' ? 1 : -1;
        const replicas = counts ? sign * named.length : 0;
        const isMember = ({ uid }: { uid: string }) => moved[Number(uid.slice(4))] === (kind === 'adopt');
        const correction = correctionOf({ kind, vms: named, replicas }, isMember);
        expect(replicas + correction).toBe(counts ? sign * moved.filter(Boolean).length + 0 : 0);
      },
    ),
  );
});
