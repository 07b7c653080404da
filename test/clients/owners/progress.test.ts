import { expect, test } from 'vitest';
import { claimOf } from '../../../api/claims/claim.ts';
import { Pools } from '../../../clients/cli/kinds.ts';
import { isCurrent, readProgress, workflowIdOf, type Progress } from '../../../clients/owners/progress.ts';
import type { Session } from '../../../clients/session/session.ts';
import { setWith, VmSets } from '../replica-sets/sets.ts';
import { poolWith } from '../rollout/pools.ts';

const notFound: Progress = { known: false, message: 'no workflow manages it yet', hasNoWorkflow: true };
const untouched = () => ({ ...poolWith({}), status: undefined }) as unknown as ReturnType<typeof poolWith>;

/** A session whose Temporal answers that no such workflow runs. */
const withoutWorkflow = {
  cluster: 'default',
  temporal: () => Promise.reject(Object.assign(new Error('not found'), { name: 'WorkflowNotFoundError' })),
} as unknown as Session;

/** A session whose Temporal has a workflow that stands so. Even one that has ended answers queries. */
const withWorkflow = (described: object): Session =>
  ({
    cluster: 'default',
    temporal: () =>
      Promise.resolve({
        client: {
          workflow: {
            getHandle: () => ({
              describe: () => Promise.resolve(described),
              query: () => Promise.resolve({ doing: ['heal web-2: wait until 10:00'], recentErrors: [] }),
            }),
          },
        },
        connection: { withDeadline: (_deadline: number, ask: () => unknown) => ask() },
      }),
    untilAnswered: (call: Promise<unknown>) => call,
  }) as unknown as Session;

test('the last progress of a workflow that has ended does not count for the pool', async () => {
  const session = withWorkflow({ status: { name: 'TERMINATED' }, raw: {} });
  expect(await readProgress(session, Pools, poolWith({}))).toEqual({
    known: false,
    message: 'no workflow manages it now (the last one was ended: terminated); a worker starts one within seconds',
  });
  expect(await readProgress(session, Pools, untouched())).toEqual(notFound);
});

const running = (attempt: number): Session =>
  withWorkflow({ status: { name: 'RUNNING' }, raw: { pendingWorkflowTask: { attempt } } });

test('a workflow whose task fails again and again is reported as stuck', async () => {
  expect(await readProgress(running(2), Pools, poolWith({}))).toMatchObject({ known: true });
  expect(await readProgress(running(8), Pools, poolWith({}))).toEqual({
    known: false,
    message: "its workflow is stuck: a task has failed 7 times, and Temporal's Web UI says why",
  });
});

test('a pool without a status is reported as not yet managed', async () => {
  expect(await readProgress(withoutWorkflow, Pools, untouched())).toEqual(notFound);
});

test('a pool with a status and without a workflow is reported', async () => {
  expect(await readProgress(withoutWorkflow, Pools, poolWith({}))).toMatchObject({
    known: false,
    message: expect.stringContaining('no workflow manages it now'),
  });
});

/** A session on a cluster whose API server has this object, whatever is asked for. */
const sessionWith = (found: object): Session =>
  ({ cluster: 'default', kube: () => Promise.resolve({ get: () => Promise.resolve(found) }) }) as unknown as Session;

test('a pool whose namespace has workers of its own is asked for by their name', async () => {
  const claim = claimOf('default', 'default.shop');
  expect(await workflowIdOf(sessionWith(claim), Pools, poolWith({}))).toBe('pool/default.shop/default/web');
  // The workers of the cluster see no claim without its label.
  const unlabelled = { ...claim, metadata: { ...claim.metadata, labels: {} } };
  expect(await workflowIdOf(sessionWith(unlabelled), Pools, poolWith({}))).toBe('pool/default/default/web');
  expect(await workflowIdOf(withoutWorkflow, Pools, poolWith({}))).toBe('pool/default/default/web');
});

test('an answer from before the pool was taken up does not count for the current pool', () => {
  expect(isCurrent(notFound, Pools, untouched())).toBe(true);
  expect(isCurrent(notFound, Pools, poolWith({}))).toBe(false);
});

test("a replica set is queried by its own workflow's id, and reported if it has no workflow", async () => {
  const asked: string[] = [];
  const getHandle = (id: string): never => {
    asked.push(id);
    throw Object.assign(new Error('not found'), { name: 'WorkflowNotFoundError' });
  };
  const session = {
    cluster: 'east',
    temporal: () => Promise.resolve({ client: { workflow: { getHandle } } }),
  } as unknown as Session;
  expect(await readProgress(session, VmSets, setWith())).toEqual({
    known: false,
    message: 'no workflow manages it now; a worker starts one within seconds',
  });
  const { status: _status, ...untaken } = setWith();
  expect(await readProgress(session, VmSets, untaken)).toEqual(notFound);
  const held = { ...untaken, metadata: { ...untaken.metadata, finalizers: ['drover.dev/replica-set'] } };
  expect(isCurrent(notFound, VmSets, held)).toBe(false);
  expect(asked[0]).toBe('replica-set/east/default/web');
});
