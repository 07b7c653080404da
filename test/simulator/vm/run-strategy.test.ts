import { describe, expect, test } from 'vitest';
import type { RunStrategy } from '../../../simulator/objects/kubevirt.ts';
import { nextStep, outstandingRequests, runStrategyOf } from '../../../simulator/vm/run-strategy.ts';
import { at, aVmi, aVm, NOW } from '../simulated.ts';

const step = (
  runStrategy: RunStrategy,
  status: Parameters<typeof aVm>[1],
  found: ReturnType<typeof aVmi> | undefined,
): string => nextStep(aVm({ runStrategy }, status), found, NOW).do;

const stopRequest = { stateChangeRequests: [{ action: 'Stop' as const, uid: 'vmi-uid' }] };
const startRequest = { stateChangeRequests: [{ action: 'Start' as const }] };
const running = aVmi('Running');
const succeeded = aVmi('Succeeded');
const failed = aVmi('Failed');
const leaving = aVmi('Running', {}, { deletionTimestamp: at(0) });

describe('a run strategy', () => {
  test.each([
    ['Always', {}, undefined, 'start'],
    ['Always', {}, running, 'nothing'],
    ['Always', {}, succeeded, 'stop'],
    ['Always', {}, failed, 'stop'],
    ['Always', stopRequest, running, 'stop'],
    ['Always', stopRequest, leaving, 'nothing'],
    ['Always', { stateChangeRequests: [{ action: 'Stop' as const, uid: 'another' }] }, running, 'nothing'],
    ['RerunOnFailure', {}, undefined, 'start'],
    ['RerunOnFailure', { runStrategy: 'RerunOnFailure' as const }, undefined, 'nothing'],
    ['RerunOnFailure', { runStrategy: 'RerunOnFailure' as const, ...startRequest }, undefined, 'start'],
    ['RerunOnFailure', {}, running, 'nothing'],
    ['RerunOnFailure', {}, succeeded, 'stop'],
    ['RerunOnFailure', {}, failed, 'request-start'],
    ['RerunOnFailure', startRequest, failed, 'stop'],
    ['RerunOnFailure', stopRequest, running, 'stop'],
    ['Once', {}, undefined, 'start'],
    ['Once', {}, succeeded, 'nothing'],
    ['Once', {}, failed, 'nothing'],
    ['Manual', {}, undefined, 'nothing'],
    ['Manual', startRequest, undefined, 'start'],
    ['Manual', {}, succeeded, 'nothing'],
    ['Manual', stopRequest, running, 'stop'],
    ['Halted', {}, undefined, 'nothing'],
    ['Halted', {}, running, 'stop'],
    ['Halted', {}, leaving, 'nothing'],
    ['Halted', startRequest, undefined, 'become-always'],
  ] as const)('%s with status %j', (strategy, status, found, expected) => {
    expect(step(strategy, status as Parameters<typeof aVm>[1], found)).toBe(expected);
  });

  test.each(['Always', 'RerunOnFailure'] as const)(
    '%s is held back until its failed start may be tried again',
    (runStrategy) => {
      const held = aVm({ runStrategy }, { startFailure: { consecutiveFailCount: 1, retryAfterTimestamp: at(12) } });
      expect(nextStep(held, undefined, NOW)).toEqual({ do: 'wait', until: NOW + 12_000 });
      expect(nextStep(held, undefined, NOW + 12_000)).toEqual({ do: 'start' });
    },
  );

  test('the field running is the older way to say it', () => {
    expect(runStrategyOf(aVm({ running: true }))).toBe('Always');
    expect(runStrategyOf(aVm({ running: false }))).toBe('Halted');
  });
});

describe('a request that is done', () => {
  const restart = { stateChangeRequests: [{ action: 'Stop' as const, uid: 'vmi-uid' }, { action: 'Start' as const }] };

  test('a restart is outstanding while the old instance is there', () => {
    expect(outstandingRequests(aVm({}, restart), running)).toHaveLength(2);
    expect(outstandingRequests(aVm({}, restart), leaving)).toHaveLength(2);
  });

  test('is a stop once the instance is gone, and a start once there is a new one', () => {
    expect(outstandingRequests(aVm({}, restart), undefined)).toEqual([{ action: 'Start' }]);
    expect(outstandingRequests(aVm({}, restart), aVmi('Pending', {}, { uid: 'new' }))).toEqual([]);
  });

  test('is not a start whose instance has ended', () => {
    expect(outstandingRequests(aVm({}, startRequest), failed)).toHaveLength(1);
  });
});
