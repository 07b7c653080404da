import { expect, test } from 'vitest';
import { HEALING_REQUEST_ANNOTATION, HEALING_REQUESTED_BY_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { noHealing, type Cycle, type FinishedCycle, type HealingState } from '../../../decisions/healing/state.ts';
import { withHealingRequest, type HealingRequest } from '../../../decisions/pool/healing-request.ts';
import { newRolloutState } from '../../../decisions/rollout/state/state.ts';
import { aPool } from '../fixtures/fleets.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const at = new Date(NOW).toISOString();
const paused = { by: 'bob', at };

const cycle = (vm: string, phase: Cycle['phase']): Cycle => ({
  vm,
  uid: `uid-of-${vm}`,
  attempt: 2,
  phase,
  message: 'it fails',
  startedAt: at,
  run: { state: 'Running', since: 0 },
});
const finished = (vm: string, end: FinishedCycle['end']): FinishedCycle => ({
  vm,
  uid: `uid-of-${vm}`,
  attempts: 1,
  end,
  message: 'why',
  at,
});
const inCycles: HealingState = {
  ...noHealing,
  cycles: [cycle('web-1', 'Waiting'), cycle('web-2', 'Removing'), cycle('web-3', 'Provisioning')],
  finished: [finished('web-4', 'GivenUp'), finished('web-5', 'Healed')],
};

interface Said {
  state?: HealingState;
  spec?: Partial<PoolSpec>;
  isNew?: boolean;
}

function asked(
  request: HealingRequest,
  { state = inCycles, spec = { autohealing: {} }, isNew = false }: Said = {},
): HealingState {
  const pool = aPool(spec);
  const text = JSON.stringify({ id: '1', reason: 'lunch', ...request });
  const annotations = { [HEALING_REQUEST_ANNOTATION]: text, [HEALING_REQUESTED_BY_ANNOTATION]: 'ada' };
  const { status: _status, ...unseen } = pool;
  const seen = isNew ? unseen : { ...unseen, status: { replicas: 0, rollout: newRolloutState('r', at) } };
  return withHealingRequest({ pool: { ...seen, metadata: { ...pool.metadata, annotations } }, now: NOW }, state);
}

const after = (state: HealingState): (string | undefined)[] => {
  const { outcome, message } = state.handledRequests?.[0] ?? {};
  return [outcome, message];
};

test.each<[string, HealingRequest, Said, string, Partial<HealingState>]>([
  ['pause', { action: 'pause' }, {}, 'paused', { paused: { by: 'ada', at, reason: 'lunch' } }],
  ['resume', { action: 'resume' }, { state: { ...inCycles, paused } }, 'resumed', {}],
  [
    'not wait with VMs',
    { action: 'now', vms: ['web-1', 'web-2'] },
    {},
    'web-1, web-2 no longer wait',
    {
      cycles: [
        { ...inCycles.cycles[0]!, skipDelay: true },
        { ...inCycles.cycles[1]!, skipDelay: true },
        inCycles.cycles[2]!,
      ],
    },
  ],
  [
    'heal a VM again that was given up',
    { action: 'now', vms: ['web-4'] },
    {},
    'web-4 no longer waits',
    { finished: [inCycles.finished[1]!] },
  ],
  [
    'leave a VM as it is',
    { action: 'skip', vms: ['web-3'] },
    {},
    'web-3 is left as it is',
    { cycles: [...inCycles.cycles.slice(0, 2), { ...inCycles.cycles[2]!, skipped: 'skipped by ada (lunch)' }] },
  ],
])('a user may %s', (_what, request, said, message, wanted) => {
  const state = asked(request, said);
  expect(after(state)).toEqual(['Done', message]);
  const { handledRequests: _handled, paused: _paused, ...rest } = state;
  const { handledRequests: _none, paused: _before, ...before } = { ...inCycles, ...wanted };
  expect(rest).toEqual(before);
  expect(state.paused).toEqual(wanted.paused);
});

test.each<[string, HealingRequest, Said, RegExp]>([
  ['to pause twice', { action: 'pause' }, { state: { ...noHealing, paused } }, /^healing is paused already, by bob$/],
  ['to resume what is not paused', { action: 'resume' }, {}, /^healing is not paused$/],
  [
    'for a VM that is recreated',
    { action: 'now', vms: ['web-3'] },
    {},
    /^web-3: it is recreated already, as replacement 2$/,
  ],
  ['for a VM that is well', { action: 'now', vms: ['web-5'] }, {}, /^web-5: no replacement of it is in progress, and/],
  ['for no VM', { action: 'skip', vms: [] }, {}, /^no VM is named$/],
  [
    'as a whole, if a part of it makes no sense',
    { action: 'skip', vms: ['web-1', 'web-9'] },
    {},
    /^web-9: no replacement of it is in progress$/,
  ],
  ['without autohealing', { action: 'pause' }, { spec: {}, state: noHealing }, /^the pool has no spec\.autohealing$/],
  ['in the manifest of a new pool', { action: 'pause' }, { isNew: true }, /^the pool is new, /],
])('a request is refused %s', (_what, request, said, why) => {
  const { handledRequests, ...state } = asked(request, said);
  const { handledRequests: _none, ...before } = said.state ?? inCycles;
  expect(state).toEqual(before);
  expect(handledRequests).toMatchObject([
    { id: '1', by: 'ada', reason: 'lunch', outcome: 'Refused', message: expect.stringMatching(why) as string },
  ]);
});

test('a request is handled once', () => {
  const request: HealingRequest = { action: 'now', vms: ['web-1'] };
  const first = asked(request);
  expect(asked(request, { state: first })).toBe(first);
});
