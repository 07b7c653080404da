import { describe, expect, test } from 'vitest';
import { checkCycle, formatCycle, doneOf, formatNoCycle, whyNoCycle } from '../../../clients/healing/cycles.ts';
import { checkHeals, pause, resume } from '../../../clients/healing/pause-and-resume.ts';
import { healView, type HealView } from '../../../clients/healing/view.ts';
import type { Control } from '../../../clients/pool/control.ts';
import { healingStatus } from '../../../decisions/healing/conditions.ts';
import { noHealing } from '../../../decisions/healing/state.ts';
import { condition, cycle, healingPool, finished, type UserRequest } from './pools.ts';

const paused: UserRequest = { healing: { paused: { by: 'ada', at: '2026-01-01T00:00:00Z', reason: 'lunch' } } };
const tooMany: UserRequest = { conditions: [condition('HealingSuspended', 'True', 'TooManyUnhealthy', '5 of 10 are')] };
const viewOf = (said: UserRequest) => healView(healingPool(said));

test.each([
  ['pause twice', pause, paused, /^the healing of pool web is already paused, by ada \S+ ago: lunch$/],
  ['resume what goes on', resume, {}, /^the healing of pool web is not paused: nothing to resume$/],
  ['resume what too many sick VMs hold', resume, tooMany, /: what suspends it ends by itself: 5 of 10 are$/],
] as [string, Control<HealView>, UserRequest, RegExp][])('it makes no sense to %s', (_what, control, said, words) =>
  expect(() => control.check(viewOf(said), healingPool(said))).toThrow(words),
);

test('a user may pause active healing, and resume paused healing', () => {
  expect(() => pause.check(viewOf({}), healingPool())).not.toThrow();
  expect(() => resume.check(viewOf(paused), healingPool(paused))).not.toThrow();
  expect([pause.body(viewOf({})), resume.body(viewOf(paused))]).toEqual([{ action: 'pause' }, { action: 'resume' }]);
});

test('a pool without autohealing accepts requests only for cycles in progress', () => {
  const off = { spec: { autohealing: undefined } };
  expect(() => checkHeals(healingPool(off))).toThrow(
    'pool web has no autohealing: `autohealing: {}` in its spec turns it on',
  );
  expect(() => checkHeals(healingPool({ ...off, healing: { cycles: [cycle()] } }))).not.toThrow();
  expect(() => checkHeals(healingPool())).not.toThrow();
});

test('a new VM that is already being watched has no shorter wait', () => {
  const view = viewOf({ healing: { cycles: [cycle({ phase: 'Provisioning', attempt: 2 })] } });
  expect(() => checkCycle('now', view, 'web-1')).toThrow(/^vm web-1 has already been recreated \(replacement 2\)/);
  expect(() => checkCycle('skip', view, 'web-1')).not.toThrow();
  expect(() => checkCycle('now', view, 'web-2')).not.toThrow();
});

test('a VMI that has yet to stop is waited for all the same, with a message', () => {
  const view = viewOf({ healing: { cycles: [cycle(), cycle({ vm: 'web-2', phase: 'Waiting' })] } });
  expect(doneOf('now', view, 'web-1')).toBe('no longer waits, and is recreated once it and its VMI are gone');
  expect([doneOf('now', view, 'web-2'), doneOf('skip', view, 'web-1')]).toEqual(['no longer waits', 'skipped']);
});

test('the reason about a VM is reported in words', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  const view = viewOf({
    healing: {
      cycles: [cycle({ vm: 'web-2', phase: 'Waiting', nextAt: '2026-01-01T00:00:10Z' })],
      finished: [finished({ end: 'Skipped', message: 'by ada' })],
    },
  });
  expect(formatCycle(view, 'web-2', now)).toBe('replacement 1, Waiting, next try in 10s (2026-01-01T00:00:10Z): sick');
  expect(formatCycle(view, 'web-1', now)).toBe('skipped after 1 replacement: by ada');
  const before = viewOf({
    healing: { cycles: [], finished: [finished({ end: 'Skipped', message: 'by ada', attempts: 0 })] },
  });
  expect(formatCycle(before, 'web-1', now)).toBe('skipped: by ada');
  expect(formatCycle(view, 'web-3', now)).toBe('no cycle of it is in progress');
});

/** The view of a pool in which `count` unhealthy VMs wait, each with these words of KubeVirt's. */
const viewWith = (count: number, words: string, notListed = 0) => {
  const sick = Array.from({ length: count }, (_, index) => ({
    vm: `web-${index + 1}`,
    message: words,
    waitsFor: 'others are healed first',
  }));
  const notReplaced = [...sick, { vm: 'web-99', message: 'its node is away' }];
  return viewOf({
    healing: healingStatus({ state: noHealing, suspended: null, notReplaced, notListed }),
  });
};

describe('a VM without a cycle', () => {
  test('is reported with what it waits for, whatever that message contains', () => {
    const why = whyNoCycle(viewWith(2, 'no image; no disk; really'), 'web-2');
    expect(why).toMatch(
      /^no replacement of vm web-2 has begun: web-2 is unhealthy \(no image; no disk; really\): others are /,
    );
    expect(whyNoCycle(viewWith(2, 'x'), 'web-99')).toBe('vm web-99 is not replaced: its node is away');
  });

  test('is not called healthy if the status omits unhealthy VMs', () => {
    const [few, many] = [viewWith(2, 'x'), viewWith(20, 'x', 5)];
    expect(formatNoCycle(few, 'web-7')).toMatch(/by the rules of pool web it is not unhealthy/);
    expect(whyNoCycle(many, 'web-23')).toBeNull();
    expect(formatNoCycle(many, 'web-23')).toMatch(
      /waits for one is not known: the status of pool web leaves out 5 of the /,
    );
    expect(whyNoCycle(many, 'web-20')).toMatch(/has begun: web-20 is unhealthy/);
  });
});
