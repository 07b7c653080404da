import { expect, test } from 'vitest';
import type { Control } from '../../../clients/pool/control.ts';
import { rolloutView, type RolloutView } from '../../../clients/pool/view.ts';
import { abort, pause, promote, resume } from '../../../clients/rollout/pause-and-promote.ts';
import { byApproval, hashOf, poolWith, templateOf, type UserRequest } from './pools.ts';

const at = '2026-01-01T00:00:00Z';
const paused = { by: 'ada', at, reason: 'lunch' };
const halted = (kind: 'Failed' | 'Aborted' | 'Undoing') => ({ kind, by: 'ada', at });
const inSteps = { spec: { rollout: byApproval(1, 5) } } satisfies UserRequest;
const complete: UserRequest = { progressing: ['Complete', 'False'], rollout: { completedAt: at } };

const check = (control: Control<RolloutView>, said: UserRequest) => (): void => {
  const pool = poolWith(said);
  control.check(rolloutView(pool), pool);
};

test.each([
  ['pause twice', pause, { rollout: { paused } }, /^pool web is already paused, by ada \S+ ago: lunch$/],
  ['resume what goes on', resume, {}, /^pool web is not paused, .*: nothing to resume$/],
  [
    'resume what the spec holds',
    resume,
    { spec: { paused: true } },
    /^spec\.paused of pool web is true, and holds it: /,
  ],
  ['abort what is complete', abort, complete, /^pool web has no rollout in progress: nothing to abort$/],
  [
    'abort twice',
    abort,
    { rollout: { halted: halted('Aborted') }, progressing: ['Aborted', 'False'] },
    /was already aborted, by ada \S+ ago$/,
  ],
  [
    'abort what has failed',
    abort,
    { rollout: { halted: halted('Failed') }, progressing: ['Failed', 'False'] },
    /is over, Failed: nothing to abort; /,
  ],
  ['promote without steps', promote(false), {}, /^pool web has no spec\.rollout\.steps: nothing to promote$/],
  ['promote what is complete', promote(true), { ...inSteps, ...complete }, /is over, Complete: nothing to promote$/],
  [
    'promote before the step',
    promote(false),
    inSteps,
    /has not reached step 1 of 2 yet; --full goes past all of them$/,
  ],
  [
    'promote past the last step',
    promote(true),
    { ...inSteps, rollout: { step: 2 } },
    /is past all its 2 steps: nothing to promote$/,
  ],
  [
    'promote what drover has not seen',
    promote(true),
    { ...inSteps, spec: { ...inSteps.spec, template: templateOf(3) } },
    /^pool web has no rollout yet/,
  ],
] as [string, Control<RolloutView>, UserRequest, RegExp][])('it makes no sense to %s', (_what, control, said, words) =>
  expect(check(control, said)).toThrow(words),
);

test.each([
  ['pause what goes on', pause, {}],
  ['pause what the spec holds already: it stays so when that no longer does', pause, { spec: { paused: true } }],
  ['pause what is complete: the next template waits', pause, complete],
  ['resume what is paused', resume, { rollout: { paused }, spec: { paused: true } }],
  ['resume what was aborted', resume, { rollout: { halted: halted('Aborted') } }],
  ['abort what goes on', abort, {}],
  [
    'abort what goes back by itself',
    abort,
    { rollout: { halted: halted('Undoing') }, progressing: ['Undoing', 'True'] },
  ],
  ['promote what waits', promote(false), { ...inSteps, rollout: { stepReachedAt: at } }],
  ['promote fully before the step', promote(true), inSteps],
] as [string, Control<RolloutView>, UserRequest][])('a user may %s', (_what, control, said) =>
  expect(check(control, said)).not.toThrow(),
);

test.each([
  ['pause', pause, {}, { action: 'pause' }],
  ['resume after a pause, of whatever is rolled out', resume, { rollout: { paused } }, { action: 'resume' }],
  [
    'resume of what failed',
    resume,
    { rollout: { halted: halted('Failed') } },
    { action: 'resume', revision: hashOf(2) },
  ],
  ['abort', abort, {}, { action: 'abort', revision: hashOf(2) }],
  [
    'promote',
    promote(false),
    { ...inSteps, rollout: { step: 1, stepReachedAt: at } },
    { action: 'promote', revision: hashOf(2), step: 2 },
  ],
  ['promote --full', promote(true), inSteps, { action: 'promote', revision: hashOf(2), full: true }],
] as [string, Control<RolloutView>, UserRequest, object][])(
  '%s says which rollout and which step it means',
  (_what, control, said, asked) => expect(control.body(rolloutView(poolWith(said)))).toEqual(asked),
);

test('a pause of the spec is not a pause by a user', () => {
  const bySpec = rolloutView(poolWith({ spec: { paused: true } }));
  expect(() => resume.checkAfter!(poolWith({ spec: { paused: true } }))).toThrow(/spec\.paused/);
  expect(pause.checkAfter).toBeUndefined();
  expect(hashOf(2)).toBe(bySpec.target.hash);
});
