import { expect, test } from 'vitest';
import { MEMBERSHIP_REQUEST_ANNOTATION, UID_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { PoolStatus } from '../../../api/pool/pool.ts';
import { stateFrom } from '../../../decisions/healing/state.ts';
import { changeAnnotation, type MembersReport } from '../../../decisions/membership/change.ts';
import type { MembershipRequest } from '../../../decisions/membership/membership-request.ts';
import { whyNotAdopted } from '../../../decisions/membership/moves.ts';
import { planPool, type PoolPlan } from '../../../decisions/pool/plan.ts';
import { membershipRequest } from '../../requests.ts';
import { aPool, aVm, quiet } from '../fixtures/fleets.ts';

const takeover: MembershipRequest = { action: 'takeover', uid: 'u', generation: 1 };

interface Said {
  request?: object;
  status?: Partial<PoolStatus>;
  metadata?: object;
  /** No worker has written its status. */
  isNew?: boolean;
  /** Its workflow knows of it all the same. */
  isKnown?: boolean;
  report?: Omit<MembersReport, 'digest'>;
}

function planned({
  request = takeover,
  status,
  metadata = {},
  isNew = false,
  isKnown = !isNew,
  report,
}: Said = {}): PoolPlan {
  const { annotations, digest } = membershipRequest(request as MembershipRequest, { by: 'ada', reason: 'lunch' });
  const pool = aPool({ replicas: 3 });
  const { annotations: more = {}, ...others } = metadata as { annotations?: object };
  const { status: _status, ...unseen } = pool;
  const stored = {
    ...unseen,
    ...(isNew ? {} : { status: { replicas: 0, rollout: { ...begun }, ...status } }),
    metadata: { ...pool.metadata, ...others, annotations: { ...annotations, ...more } },
  };
  const rollout = isKnown ? { ...quiet.rollout!, ...begun } : null;
  return planPool({
    ...quiet,
    pool: stored,
    vms: [aVm('web-1')],
    burst: 250,
    rollout,
    healing: stateFrom(status?.healing),
    ...(report === undefined ? {} : { membership: { digest, ...report } }),
  });
}

const begun = {
  revision: 'r',
  startedAt: new Date(quiet.now).toISOString(),
  batches: 0,
  lastBatch: 0,
  step: 0,
  failures: [],
};
const answerIn = ({ status }: PoolPlan) => status?.membership?.handledRequests?.at(-1);
const kinds = ({ steps }: PoolPlan): string[] => steps.map(({ kind }) => kind);

test('a request is carried out before it is answered, and the pool begins nothing meanwhile', () => {
  const plan = planned();
  expect(kinds(plan)).toEqual(expect.arrayContaining(['changeMembers']));
  expect(kinds(plan)).not.toContain('create');
  expect(plan.status?.membership).toBeUndefined();
});

test('the answer is what a worker reports', () => {
  const plan = planned({ report: { moved: ['web-1'], note: 'more' } });
  expect(kinds(plan)).toContain('create');
  expect(kinds(plan)).not.toContain('changeMembers');
  expect(answerIn(plan)).toMatchObject({
    outcome: 'Done',
    action: 'takeover',
    by: 'ada',
    reason: 'lunch',
    vms: ['web-1'],
    message: 'taken over web-1; more',
  });
  expect(plan.events).toMatchObject([
    { type: 'Normal', reason: 'SuccessfulAdopt', note: 'Taken over web-1; more, asked by ada (lunch)' },
  ]);
});

test.each<[string, Said, object]>([
  ['has another action', { request: { action: 'adopt', vms: ['old'] } }, { outcome: 'Invalid' }],
  ['came with a new pool', { isNew: true }, { outcome: 'Refused', message: expect.stringContaining('is new') }],
  [
    'came with a new pool, and whose refusal could not be written,',
    { isNew: true, isKnown: true },
    { outcome: 'Refused', message: expect.stringContaining('is new') },
  ],
  [
    'is of a pool that is being deleted',
    { metadata: { deletionTimestamp: '2026-01-02T03:04:05Z' } },
    { outcome: 'Refused', message: 'the pool is being deleted' },
  ],
  [
    'is of a pool that comes back from a backup',
    { metadata: { annotations: { [UID_ANNOTATION]: 'of-before' } } },
    { outcome: 'Refused', message: expect.stringContaining('is being restored from a backup') },
  ],
])('a request that %s is answered at once, and nothing moves', (_what, said, answer) => {
  const plan = planned(said);
  expect(answerIn(plan)).toMatchObject(answer);
  expect(kinds(plan)).not.toContain('changeMembers');
});

test('a request that the status answers has no effect again', () => {
  const first = planned({ request: { ...takeover, id: '1' }, report: { moved: ['web-1'] } });
  const again = planned({ request: { ...takeover, id: '1' }, status: first.status! });
  expect(kinds(again)).not.toContain('changeMembers');
  expect(again.status?.membership ?? first.status!.membership).toEqual(first.status!.membership);
});

const hold = (kind: 'takeover' | 'release'): object => ({
  annotations: changeAnnotation({ kind, by: 'ada', at: new Date(quiet.now).toISOString() }),
});

test('a pool that is held carries out a takeover or a release, and its VMs count for nothing else', () => {
  expect(kinds(planned({ metadata: hold('takeover') }))).toEqual(['changeMembers']);
  expect(kinds(planned({ request: { action: 'release' }, metadata: hold('takeover') }))).toEqual(['changeMembers']);
});

test('a release holds the pool at once, and moves VMs when the pool has finished its work', () => {
  const healing = { cycles: [{ vm: 'web-1', phase: 'Removing' }] } as never;
  const request = { action: 'release' };
  expect(kinds(planned({ request, status: { healing } }))).toContain('changeMembers');
  expect(kinds(planned({ request, status: { healing }, metadata: hold('release') }))).toEqual([]);
  expect(kinds(planned({ request, metadata: hold('release') }))).toEqual(['changeMembers']);
});

test('a handover that is refused is answered as refused, and its pool stays held', () => {
  const report = { moved: [], refused: 'web-1 is being deleted' };
  const plan = planned({ request: { action: 'release' }, metadata: hold('release'), report });
  expect(answerIn(plan)).toMatchObject({ outcome: 'Refused', message: 'web-1 is being deleted' });
  expect(kinds(plan)).toEqual([]);
});

test('a handover whose action the API server would not find in its text is not carried out', () => {
  const text = '{"id": "1", "action": "\\u0072elease"}';
  const pool = aPool({ replicas: 1 });
  const annotations = { [MEMBERSHIP_REQUEST_ANNOTATION]: text };
  const plan = planPool({
    ...quiet,
    pool: { ...pool, metadata: { ...pool.metadata, annotations } },
    vms: [aVm('web-1')],
    burst: 250,
    rollout: { ...quiet.rollout!, ...begun },
  });
  expect(answerIn(plan)).toMatchObject({ outcome: 'Invalid', message: expect.stringContaining('without escapes') });
  expect(kinds(plan)).not.toContain('changeMembers');
});

const vmOf = (metadata: object) =>
  ({ metadata: { name: 'x', uid: 'u', resourceVersion: '1', creationTimestamp: '', ...metadata }, spec: {} }) as never;
const owned = (kind: string, labels: object = {}) =>
  vmOf({
    labels,
    ownerReferences: [{ apiVersion: 'drover.dev/v1alpha1', kind, name: 'web', uid: 'p', controller: true }],
  });

test('a VM is adopted only if it has no controller, and was only ever a replica in this pool', () => {
  const web = { metadata: { name: 'web' } };
  expect(whyNotAdopted(web, vmOf({}))).toBeNull();
  expect(whyNotAdopted(web, owned('StatefulSet'))).toBe('belongs to StatefulSet web');
  const roles = [{ vm: 'x', uid: 'u', role: 'Surge', at: '' }] as const;
  expect(whyNotAdopted({ ...web, status: { roles: [...roles] } }, vmOf({}))).toContain('was not a replica of pool web');
});
