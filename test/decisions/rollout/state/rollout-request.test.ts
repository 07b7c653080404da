import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  HEALING_REQUEST_ANNOTATION,
  ROLLOUT_REQUEST_ANNOTATION,
  ROLLOUT_REQUESTED_BY_ANNOTATION,
} from '../../../../api/labels-and-annotations.ts';
import type { PoolSpec, RolloutStatus } from '../../../../api/pool/pool.ts';
import { actOfRequest, requestEvents } from '../../../../decisions/pool/request-events.ts';
import { RolloutContext } from '../../../../decisions/rollout/state/context.ts';
import { withRolloutRequest } from '../../../../decisions/rollout/state/rollout-request.ts';
import { newRolloutState, halted as haltedState } from '../../../../decisions/rollout/state/state.ts';
import { aStep, at, failure, NEW, NOW, old, OLD, rolloutInput } from '../../fixtures/rollout-pools.ts';

const steps = { rollout: { steps: [aStep(1, { approval: {} }), aStep(2, { approval: {} })] } };
const going = (more: Partial<RolloutStatus> = {}): RolloutStatus => ({
  ...newRolloutState(NEW, at(0)),
  batches: 1,
  ...more,
});
const paused = { by: 'bob', at: at(0) };
const ended = (kind: 'Failed' | 'Aborted' | 'Undoing') => haltedState(going(), kind, { by: 'bob' }, at(0));
const reached = (step = 0) => going({ step, stepReachedAt: at(0) });

interface Said {
  state?: RolloutStatus;
  spec?: Partial<PoolSpec>;
  isNew?: boolean;
  deleted?: boolean;
  by?: string;
}

/** The rollout of a pool on which this text stands as a request. */
function after(text: string, { state = going(), spec = {}, isNew = false, deleted = false, by = 'ada' }: Said = {}) {
  const input = rolloutInput({ vms: [old(1)], state, spec });
  const { metadata } = input.pool;
  const annotations = { [ROLLOUT_REQUEST_ANNOTATION]: text, [ROLLOUT_REQUESTED_BY_ANNOTATION]: by };
  const pool = {
    ...input.pool,
    status: { replicas: 1, ...input.pool.status, ...(isNew ? {} : { rollout: state }) },
    metadata: { ...metadata, annotations, ...(deleted ? { deletionTimestamp: at(0) } : {}) },
  };
  return withRolloutRequest(new RolloutContext({ ...input, pool }), state);
}
const asked = (request: object, said?: Said): RolloutStatus => after(JSON.stringify({ id: 'ada-1', ...request }), said);
const answer = ({ handledRequests = [] }: RolloutStatus): (string | undefined)[] => {
  const { outcome, message } = handledRequests.at(-1) ?? {};
  return [outcome, message];
};

test.each<[string, object, Said, Partial<RolloutStatus>, string]>([
  [
    'pause',
    { action: 'pause', reason: 'lunch' },
    {},
    { paused: { by: 'ada', at: at(NOW), reason: 'lunch' } },
    'paused',
  ],
  [
    'pause what a signal has paused: from now on only a request ends that',
    { action: 'pause' },
    { state: going({ paused: { ...paused, bySignal: true } }) },
    { paused: { by: 'ada', at: at(NOW) } },
    'paused',
  ],
  ['resume after a pause', { action: 'resume' }, { state: going({ paused }) }, {}, 'resumed'],
  [
    'resume what the spec holds as well',
    { action: 'resume' },
    { state: going({ paused }), spec: { paused: true } },
    {},
    'resumed, but spec.paused still holds it',
  ],
  [
    'resume an aborted rollout',
    { action: 'resume', revision: NEW },
    { state: ended('Aborted') },
    { resumedAt: at(NOW) },
    'resumed',
  ],
  [
    'resume one with VMs that have failed',
    { action: 'resume', revision: NEW },
    { state: going({ failures: [failure('web-1')] }) },
    { resumedAt: at(NOW) },
    'resumed',
  ],
  ['abort', { action: 'abort', revision: NEW }, {}, { halted: { kind: 'Aborted', by: 'ada', at: at(NOW) } }, 'aborted'],
  [
    'promote',
    { action: 'promote', revision: NEW, step: 1 },
    { state: reached(), spec: steps },
    { step: 1 },
    'passed step 1 of 2',
  ],
  [
    'promote in a pause, which goes on',
    { action: 'promote', revision: NEW, step: 2 },
    { state: { ...reached(1), paused }, spec: steps },
    { step: 2, paused },
    'passed step 2 of 2, and continues once it is resumed',
  ],
  [
    'promote fully before any step',
    { action: 'promote', revision: NEW, full: true },
    { spec: steps },
    { step: 2 },
    'passed all 2 steps',
  ],
])('a user may %s', (_what, request, said, wanted, message) => {
  const state = asked(request, said);
  expect(answer(state)).toEqual(['Done', message]);
  expect(state).toMatchObject(wanted);
  expect({ halted: state.halted, paused: state.paused }).toEqual({
    halted: wanted.halted,
    paused: wanted.paused,
  });
});

test.each<[string, object, Said, RegExp]>([
  ['of another revision', { action: 'abort', revision: OLD }, {}, /^revision \w+ is no longer rolled out: .* \w+$/],
  ['to promote another revision', { action: 'promote', revision: OLD, full: true }, { spec: steps }, /^revision/],
  ['to resume another revision', { action: 'resume', revision: OLD }, { state: ended('Failed') }, /^revision/],
  [
    'for a step that is passed',
    { action: 'promote', revision: NEW, step: 1 },
    { state: reached(1), spec: steps },
    /^step 1 is passed already: it is at step 2 of 2$/,
  ],
  [
    'for a step to come',
    { action: 'promote', revision: NEW, step: 2 },
    { state: reached(), spec: steps },
    /^step 2 is still to come: it is at step 1 of 2$/,
  ],
  [
    'for a step that is not reached',
    { action: 'promote', revision: NEW, step: 1 },
    { spec: steps },
    /^it is at step 1 of 2, and has not reached it yet; "full": true passes all steps$/,
  ],
  [
    'to promote what was aborted',
    { action: 'promote', revision: NEW, full: true },
    { state: ended('Aborted'), spec: steps },
    /^the rollout has ended: Aborted, by bob$/,
  ],
  [
    'to promote what is complete',
    { action: 'promote', revision: NEW, full: true },
    { state: going({ completedAt: at(0) }), spec: steps },
    /^no rollout is in progress$/,
  ],
  ['to promote without steps', { action: 'promote', revision: NEW, full: true }, {}, /^the pool has no spec\.rollout/],
  ['to abort twice', { action: 'abort', revision: NEW }, { state: ended('Aborted') }, /^the rollout is over already/],
  ['to pause twice', { action: 'pause' }, { state: going({ paused }) }, /^it is paused already, by bob$/],
  ['to resume what goes on', { action: 'resume' }, {}, /^there is nothing to resume$/],
  ['to resume what the spec holds', { action: 'resume' }, { spec: { paused: true } }, /^spec\.paused is true, /],
  [
    'to resume an aborted rollout that it does not name',
    { action: 'resume' },
    { state: ended('Aborted') },
    /^the rollout has ended: Aborted, by bob; a request with "revision": "\w+" continues it$/,
  ],
  ['to a pool that is deleted', { action: 'pause' }, { deleted: true }, /^the pool is being deleted$/],
  ['in the manifest of a new pool', { action: 'pause' }, { isNew: true }, /^the pool is new, /],
])('a request is refused %s', (_what, request, said, why) => {
  const { handledRequests, ...state } = asked(request, said);
  expect(state).toEqual(said.state ?? going());
  expect(handledRequests).toMatchObject([
    { id: 'ada-1', by: 'ada', at: at(NOW), outcome: 'Refused', message: expect.stringMatching(why) as string },
  ]);
});

describe('a request', () => {
  const text = JSON.stringify({ id: '1', action: 'pause' });

  test('is handled once, and again only if it is made anew', () => {
    const first = after(text);
    const { paused: _paused, ...resumed } = first;
    expect(after(text, { state: resumed })).toBe(resumed);
    expect(after(JSON.stringify({ id: '2', action: 'pause' }), { state: resumed }).paused).toBeDefined();
  });

  test('is handled by a workflow that knows nothing else, according to its status', () => {
    const first = after(text);
    expect(after(text, { state: first })).toBe(first);
  });

  test('is not forgotten before the last ten answered ones', () => {
    let state = going();
    for (let n = 1; n <= 12; n++) state = asked({ id: `n${n}`, action: 'abort', revision: OLD }, { state });
    expect(state.handledRequests!.map(({ id }) => id)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((n) => `n${n}`));
  });

  test('outlives its rollout with its answer', () => {
    const { handledRequests } = after(text);
    expect(newRolloutState(OLD, at(NOW), after(text)).handledRequests).toEqual(handledRequests);
  });

  test.each<[string, RegExp]>([
    ['pause', /^drover\.dev\/rollout-request must be a JSON object such as /],
    ['[]', /must be a JSON object/],
    ['{"action":"pause"}', /\.id must be 1 to 63 letters, digits and /],
    ['{"id":"a b","action":"pause"}', /\.id must be /],
    ['{"id":"1","action":"puase"}', /\.action is "puase", and must be pause, resume, abort, promote$/],
    ['{"id":"1","action":"abort"}', /\.revision is undefined, and must be a name/],
    ['{"id":"1","action":"promote","revision":"x"}', /must have either "step" .*, or "full": true$/],
    ['{"id":"1","action":"promote","revision":"x","step":1,"full":true}', /must have either "step"/],
    ['{"id":"1","action":"promote","revision":"x","step":"1"}', /\.step is "1", and must be a whole number from 0$/],
    ['{"id":"1","action":"pause","revison":"x"}', /\.revison is unknown for the action pause$/],
    ['{"id":"1","action":"pause","reason":1}', /\.reason must be a text$/],
    ['{"id":"1","action":"pause","__proto__":{"full":true}}', /\.__proto__ is unknown/],
    [`{"id":"1","action":"pause","reason":"${'x'.repeat(70_000)}"}`, /is longer than 65536 characters$/],
  ])('that says %s changes nothing, and is reported once', (malformed, why) => {
    const { handledRequests, ...state } = after(malformed);
    expect(state).toEqual(going());
    expect(handledRequests).toMatchObject([{ outcome: 'Invalid', message: expect.stringMatching(why) as string }]);
    const again = { ...state, handledRequests: handledRequests! };
    expect(after(malformed, { state: again })).toBe(again);
  });

  test('may have any content: it is answered once, and within the limits of the status', () =>
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string(), fc.string({ unit: 'binary' })), fc.string(), (any, by) => {
        const state = after(any, { by });
        const handled = state.handledRequests ?? [];
        expect(handled.length).toBe(any === '' ? 0 : 1);
        for (const one of handled) {
          expect(one.message.length).toBeLessThanOrEqual(1_024);
          expect(one.action.length).toBeLessThanOrEqual(63);
        }
        expect(after(any, { state, by })).toBe(state);
      }),
    ));

  test('for healing does not concern a rollout', () => {
    const input = rolloutInput({ vms: [old(1)], state: going(), spec: {} });
    const annotations = { [HEALING_REQUEST_ANNOTATION]: text };
    const pool = { ...input.pool, metadata: { ...input.pool.metadata, annotations } };
    const state = going();
    expect(withRolloutRequest(new RolloutContext({ ...input, pool }), state)).toBe(state);
  });
});

test('an answer to a request is one Event, and an act in the history', () => {
  const { handledRequests = [] } = asked({ action: 'pause', reason: 'lunch' });
  const [event] = requestEvents('rollout', undefined, handledRequests);
  expect(event).toMatchObject({
    type: 'Normal',
    reason: 'RequestDone',
    note: 'ada requested "rollout pause" (lunch): paused',
  });
  expect(requestEvents('rollout', handledRequests, handledRequests)).toEqual([]);
  expect(actOfRequest(event!.request!)).toEqual([
    { action: 'pause', vms: [], requestedBy: 'ada', time: at(NOW) },
    { end: 'Done', message: 'lunch' },
  ]);
  const [refused] = requestEvents('healing', undefined, [
    { ...handledRequests[0]!, action: 'skip', vms: ['web-1'], outcome: 'Refused', message: 'no' },
  ]);
  expect(refused).toMatchObject({ type: 'Warning', note: 'ada requested "heal skip" of web-1 (lunch): no' });
  expect(actOfRequest(refused!.request!)).toMatchObject([
    { action: 'heal skip', vms: ['web-1'] },
    { end: 'Refused', message: 'no' },
  ]);
});
