import { describe, expect, test } from 'vitest';
import type { RunStrategy } from '../../../simulator/objects/kubevirt.ts';
import { checkVmi, Refusal, restart, start, stop } from '../../../simulator/vm/start-stop-restart.ts';
import { condition, aVmi, aVm } from '../simulated.ts';

const running = aVmi('Running');
const succeeded = aVmi('Succeeded');
const stopRequest = { action: 'Stop', uid: 'vmi-uid' };

/** Returns the answer, or the code of the refusal. */
function outcome(act: typeof start, runStrategy: RunStrategy, found?: typeof running, body = {}): unknown {
  try {
    return act(aVm({ runStrategy }), found, body);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return error.code;
  }
}

describe('start', () => {
  test.each([
    ['Halted', undefined, { spec: { runStrategy: 'Always' } }],
    ['Halted', running, 409],
    ['Always', undefined, 409],
    ['Once', undefined, 409],
    ['Manual', undefined, { status: { stateChangeRequests: [{ action: 'Start' }] } }],
    ['Manual', succeeded, { status: { stateChangeRequests: [stopRequest, { action: 'Start' }] } }],
    ['RerunOnFailure', succeeded, { status: { stateChangeRequests: [stopRequest, { action: 'Start' }] } }],
    ['RerunOnFailure', aVmi('Failed'), 409],
  ] as const)('of a VM that is %s', (strategy, found, expected) => {
    expect(outcome(start, strategy, found)).toEqual(expected);
  });

  test('of a VM with running: true', () => {
    expect(start(aVm({ running: false }), undefined, {})).toEqual({ spec: { running: true } });
  });

  test('of a paused VM', () => {
    expect(outcome(start, 'Halted', undefined, { paused: true })).toEqual({
      status: { stateChangeRequests: [{ action: 'Start', data: { paused: 'true' } }] },
    });
  });
});

describe('stop', () => {
  test.each([
    ['Always', running, {}, { spec: { runStrategy: 'Halted' } }],
    ['Once', running, {}, { spec: { runStrategy: 'Halted' } }],
    ['Manual', running, {}, { status: { stateChangeRequests: [stopRequest] } }],
    ['Manual', undefined, {}, 409],
    ['RerunOnFailure', succeeded, {}, 409],
    ['Halted', undefined, {}, 409],
    ['Halted', running, {}, 409],
    [
      'Halted',
      running,
      { gracePeriod: 0 },
      { status: { stateChangeRequests: [stopRequest] }, vmiSpec: { terminationGracePeriodSeconds: 0 } },
    ],
    [
      'Always',
      running,
      { gracePeriod: 3 },
      { spec: { runStrategy: 'Halted' }, vmiSpec: { terminationGracePeriodSeconds: 3 } },
    ],
  ] as const)('of a VM that is %s', (strategy, found, body, expected) => {
    expect(outcome(stop, strategy, found, body)).toEqual(expected);
  });
});

describe('restart', () => {
  const requests = { status: { stateChangeRequests: [stopRequest, { action: 'Start' }] } };

  test.each([
    ['Always', running, {}, requests],
    ['Manual', running, {}, requests],
    ['RerunOnFailure', running, {}, requests],
    ['Always', undefined, {}, 409],
    ['Halted', running, {}, 409],
    ['Once', running, {}, 409],
    ['Always', running, { gracePeriodSeconds: 0 }, { ...requests, vmiSpec: { terminationGracePeriodSeconds: 1 } }],
    ['Always', running, { gracePeriodSeconds: 5 }, 400],
    ['Always', running, { gracePeriodSeconds: -1 }, 400],
  ] as const)('of a VM that is %s', (strategy, found, body, expected) => {
    expect(outcome(restart, strategy, found, body)).toEqual(expected);
  });

  test('is an error of 500 while one is in progress, as KubeVirt answers', () => {
    const under = aVm({ runStrategy: 'Always' }, { stateChangeRequests: [{ action: 'Stop', uid: 'vmi-uid' }] });
    expect(() => restart(under, running, {})).toThrow(
      expect.objectContaining({ code: 500, message: expect.stringContaining('already underway') }),
    );
  });

  test('by hand need not wait for a backoff', () => {
    const failing = aVm({ runStrategy: 'Always' }, { startFailure: { consecutiveFailCount: 2 } });
    expect(restart(failing, running, {}).status).toMatchObject({ startFailure: null });
  });
});

test.each([
  ['pause', running, undefined],
  ['pause', succeeded, 'VM is not running'],
  ['pause', aVmi('Running', { conditions: [condition('Paused', 'True')] }), 'VMI is already paused'],
  ['unpause', running, 'VMI is not paused'],
])('%s of a VMI: %j', (action, vmi, message) => {
  if (message === undefined) expect(() => checkVmi(action, vmi)).not.toThrow();
  else expect(() => checkVmi(action, vmi)).toThrow(message);
});
