import { expect, test } from 'vitest';
import { isCurrent, readProgress, type Progress } from '../../../clients/cli/progress.ts';
import type { Session } from '../../../clients/session/session.ts';
import { poolWith } from '../rollout/pools.ts';

const notFound: Progress = { known: false, why: 'no workflow has taken it up yet', hasNoWorkflow: true };
const untouched = () => ({ ...poolWith({}), status: undefined }) as unknown as ReturnType<typeof poolWith>;

/** A session whose Temporal answers that no such workflow runs. */
const withoutWorkflow = {
  cluster: 'default',
  temporal: () => Promise.reject(Object.assign(new Error('not found'), { name: 'WorkflowNotFoundError' })),
} as unknown as Session;

test('a pool that no worker has touched waits to be taken up', async () => {
  expect(await readProgress(withoutWorkflow, untouched())).toEqual(notFound);
});

test('a pool that has a status has lost its workflow', async () => {
  expect(await readProgress(withoutWorkflow, poolWith({}))).toMatchObject({
    known: false,
    why: expect.stringContaining('no workflow leads it now'),
  });
});

test('an answer from before the pool was taken up says nothing of the pool as it is now', () => {
  expect(isCurrent(notFound, untouched())).toBe(true);
  expect(isCurrent(notFound, poolWith({}))).toBe(false);
});
