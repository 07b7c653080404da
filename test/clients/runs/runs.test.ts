import '../../own-modules.ts';
import { NamespaceNotFoundError, WorkflowNotFoundError, type WorkflowHandle } from '@temporalio/client';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { sentenceOf, UsageError } from '../../../clients/cli/failure.ts';
import { Transitions } from '../../../clients/machine-types/run-kind.ts';
import { followRun } from '../../../clients/runs/follow.ts';
import { listRuns, waitUntilListed } from '../../../clients/runs/list.ts';
import { runMeant } from '../../../clients/runs/meant.ts';
import { signalRun } from '../../../clients/runs/signal.ts';
import type { Session } from '../../../clients/session/session.ts';

vi.mock('../../../clients/session/same-cluster.ts', () => ({ ensureSameCluster: () => Promise.resolve() }));

/** A run as Temporal lists it; `now` is the status that describe returns. */
interface Run {
  workflowId: string;
  status: string;
  now?: string;
  startTime: string;
  begunAt?: string;
}

const run = (id: string, fields: Partial<Run> = {}): Run => ({
  workflowId: `machine-types/default/${id}`,
  status: 'COMPLETED',
  startTime: '2026-01-01T00:00:00.000Z',
  ...fields,
});

/**
 * Returns a session of the cluster `default`, in which Temporal lists these runs; `counts` are its successive answers
 * to count queries.
 */
function sessionOf(runs: Run[], counts: number[] = []): Session {
  const list = async function* ({ query }: { query: string }): AsyncGenerator {
    for (const { workflowId, status, startTime, begunAt } of runs) {
      const isAskedFor = query.includes("= 'Running'") ? status === 'RUNNING' : true;
      const memo = begunAt === undefined ? {} : { begunAt };
      if (isAskedFor)
        yield {
          workflowId,
          status: { name: status },
          startTime: new Date(startTime),
          memo,
          typedSearchAttributes: new Map(),
        };
    }
  };
  const getHandle = (id: string): unknown => {
    const { status = '', now = status } = runs.find(({ workflowId }) => workflowId === id) ?? {};
    return { describe: () => Promise.resolve({ status: { name: now } }) };
  };
  const count = (): Promise<{ count: number }> => Promise.resolve({ count: counts.shift() ?? 0 });
  const temporal = (): Promise<unknown> => Promise.resolve({ client: { workflow: { list, getHandle, count } } });
  return { cluster: 'default', temporal } as unknown as Session;
}

describe('without an id', () => {
  test('the transition that runs is meant, not one that Temporal lists as running though it has ended', async () => {
    const session = sessionOf([
      run('a', { status: 'RUNNING', now: 'COMPLETED' }),
      run('b', { status: 'RUNNING' }),
      run('c'),
    ]);
    expect(await runMeant(session, Transitions, undefined, { orNewest: false })).toBe('machine-types/default/b');
  });

  test('the newest is meant if none runs, by when it was begun and not by when its last run was', async () => {
    const continued = run('old', { begunAt: '2025-11-01T00:00:00.000Z', startTime: '2026-01-03T00:00:00.000Z' });
    const session = sessionOf([
      continued,
      run('new', { begunAt: '2026-01-02T00:00:00.000Z', startTime: '2026-01-02T00:00:00.000Z' }),
    ]);
    expect(await runMeant(session, Transitions, undefined, { orNewest: true })).toBe('machine-types/default/new');
    expect((await listRuns(session, Transitions)).map(({ startedAt }) => startedAt)).toEqual([
      '2026-01-02T00:00:00.000Z',
      '2025-11-01T00:00:00.000Z',
    ]);
    await expect(runMeant(session, Transitions, undefined, { orNewest: false })).rejects.toThrow(
      'no machine type transition runs',
    );
  });

  test('of several that run, it must be said which is meant', async () => {
    const session = sessionOf([run('a', { status: 'RUNNING' }), run('b', { status: 'RUNNING' })]);
    const sentence = '2 machine type transitions run, say which: machine-types/default/a, machine-types/default/b';
    await expect(runMeant(session, Transitions, undefined, { orNewest: true })).rejects.toThrow(sentence);
  });
});

const meant = (id: string): Promise<string> => runMeant(sessionOf([]), Transitions, id, { orNewest: false });

test('an id is whole, or its last part, and of no other kind and no other cluster', async () => {
  expect(await meant('1f0c92ab')).toBe('machine-types/default/1f0c92ab');
  expect(await meant('machine-types/default/1f0c92ab')).toBe('machine-types/default/1f0c92ab');
  for (const [id, sentence] of [
    ['', 'which machine type transition? "" is not an id'],
    ['watch/default', 'watch/default is not a machine type transition'],
    ['machine-types/default/', 'machine-types/default/ is not a machine type transition'],
    // Its last part would be the id of another transition.
    ['machine-types/default/a/1f0c92ab', 'machine-types/default/a/1f0c92ab is not a machine type transition'],
    [
      'machine-types/other/1f0c92ab',
      'machine-types/other/1f0c92ab is of another cluster than default: give that one with --cluster',
    ],
  ] as const) {
    await expect(meant(id)).rejects.toThrow(new UsageError(sentence));
  }
});

const unknown = (): Promise<never> =>
  Promise.reject(new WorkflowNotFoundError('workflow not found', 'nope', undefined));
const calling = <T>(_: unknown, call: () => T): T => call();

test('fails to follow a transition that Temporal does not know, and prints nothing', async () => {
  const said: string[] = [];
  const writing = vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  onTestFinished(() => writing.mockRestore());
  const handle = {
    workflowId: 'nope',
    result: unknown,
    query: unknown,
    describe: unknown,
  } as unknown as WorkflowHandle;
  const connection = { withAbortSignal: calling, withDeadline: calling };
  const session = {
    temporal: () => Promise.resolve({ connection }),
    untilAnswered: <T>(call: T): T => call,
  } as unknown as Session;
  const others = new Set(process.listeners('SIGINT'));
  onTestFinished(() =>
    process.listeners('SIGINT').forEach((listener) => others.has(listener) || process.off('SIGINT', listener)),
  );
  await expect(followRun(session, Transitions, handle)).rejects.toThrow(/^there is no nope$/);
  expect(said).toEqual([]);
});

test('warns that no worker runs when a transition is signalled', async () => {
  const said: string[] = [];
  const writing = vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  onTestFinished(() => writing.mockRestore());
  const pollers: { lastAccessTime: { seconds: number } }[] = [];
  const connection = {
    withDeadline: calling,
    workflowService: { describeTaskQueue: () => Promise.resolve({ pollers }) },
  };
  const client = { workflow: { getHandle: () => ({ signal: () => Promise.resolve() }) } };
  const session = {
    cluster: 'default',
    untilAnswered: <T>(call: Promise<T>) => call,
    temporal: () => Promise.resolve({ connection, client, namespace: 'default' }),
  } as unknown as Session;
  await signalRun(session, Transitions, 'machine-types/default/a', 'abort');
  expect(said).toEqual([
    expect.stringMatching(/^no drover worker polls the task queue drover\/default: nothing happens until one does/),
  ]);
  pollers.push({ lastAccessTime: { seconds: Date.now() / 1000 } });
  await signalRun(session, Transitions, 'machine-types/default/a', 'abort');
  expect(said).toHaveLength(1);
});

test('what was just begun is waited for until Temporal lists it', async () => {
  const counts = [0, 0, 1, 0];
  await waitUntilListed(sessionOf([], counts), 'machine-types/default/1f0c92ab');
  expect(counts).toEqual([0]);
});

test("a namespace that Temporal does not have is not taken for one of Kubernetes'", () => {
  expect(sentenceOf(new NamespaceNotFoundError('nope'))).toBe(
    "Temporal has no such namespace (Namespace not found: 'nope'); give another with --temporal-namespace",
  );
});
