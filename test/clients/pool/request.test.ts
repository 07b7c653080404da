import '../../own-modules.ts';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ROLLOUT_REQUEST_ANNOTATION, ROLLOUT_REQUESTED_BY_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import type { HandledRequest } from '../../../api/pool/pool.ts';
import { controlPool } from '../../../clients/pool/control.ts';
import { requestOfPool } from '../../../clients/pool/request.ts';
import { resume, Rollout } from '../../../clients/rollout/pause-and-promote.ts';
import type { Session } from '../../../clients/session/session.ts';
import { digestOf } from '../../../decisions/owners/request.ts';
import type { Pool } from '../../../decisions/views/pool.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { eventually } from '../../wait-for.ts';
import { poolWith } from '../rollout/pools.ts';

type Answer = Pick<HandledRequest, 'outcome' | 'message'>;
const DONE: Answer = { outcome: 'Done', message: 'paused' };

afterEach(() => vi.restoreAllMocks());

/** An API server with one pool, which `ada` asks; a worker answers what stands on the pool, if it has `answer`. */
class Cluster {
  pool: Stored<Pool> = poolWith();
  answer: Answer | null = DONE;
  /** Called before each write. */
  before: () => void = () => {};
  readonly patches: [body: { metadata: { resourceVersion: string } }, options: object][] = [];

  readonly session = { kube: () => Promise.resolve(this.#kube) } as unknown as Session;

  /** Writes annotations, as anybody may. */
  annotate(annotations: Record<string, string | null>): Stored<Pool> {
    const { metadata } = this.pool;
    const resourceVersion = String(Number(metadata.resourceVersion) + 1);
    const all = Object.entries({ ...metadata.annotations, ...annotations }).filter(([, value]) => value !== null);
    this.pool = {
      ...this.pool,
      metadata: { ...metadata, resourceVersion, annotations: Object.fromEntries(all) as Record<string, string> },
    };
    return this.pool;
  }

  work(): void {
    const text = this.pool.metadata.annotations?.[ROLLOUT_REQUEST_ANNOTATION] ?? '';
    const rollout = this.pool.status!.rollout!;
    const handled = rollout.handledRequests ?? [];
    const digest = digestOf(text);
    if (this.answer === null || text === '' || handled.some((one) => one.digest === digest)) return;
    const answer = { id: '', digest, action: 'pause', by: 'x', at: '2026-01-01T00:00:00Z', ...this.answer };
    this.pool = {
      ...this.pool,
      metadata: { ...this.pool.metadata, resourceVersion: `${this.pool.metadata.resourceVersion}0` },
      status: { ...this.pool.status!, rollout: { ...rollout, handledRequests: [...handled, answer] } },
    };
  }

  readonly #kube = {
    create: () => Promise.resolve({ status: { userInfo: { username: 'ada' } } }),
    get: () => Promise.resolve(this.pool),
    patch: async (_resource: unknown, _key: unknown, _type: string, body: Patch, options: { dryRun?: boolean }) => {
      this.before();
      this.before = () => {};
      this.patches.push([body, options]);
      if (body.metadata.resourceVersion !== this.pool.metadata.resourceVersion)
        throw new KubeError(409, 'Conflict', 'the object has been modified');
      return options.dryRun === true ? this.pool : this.annotate(body.metadata.annotations);
    },
  };
}
interface Patch {
  metadata: { resourceVersion: string; annotations: Record<string, string> };
}

vi.mock('../../../clients/cli/watch-until.ts', async (importOriginal) => ({
  ...(await importOriginal<object>()),
  followOwners: async (
    { owners, signal }: { owners: Stored<Pool>[]; signal: AbortSignal },
    look: (owners: Stored<Pool>[]) => boolean,
  ) => {
    if (look(owners)) return;
    for (;;) {
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 5));
      cluster.work();
      if (look([cluster.pool])) return;
    }
  },
}));
let cluster: Cluster;

const ask = async (dryRun: 'none' | 'server' | 'client' = 'none'): Promise<Stored<Pool>> =>
  (
    await requestOfPool(
      cluster.session,
      cluster.pool,
      { names: Rollout.names, handledIn: Rollout.handledIn, body: { action: 'pause' }, what: 'pause' },
      { reason: 'lunch', dryRun },
    )
  ).pool;

test('a request is written as the user whom the API server knows, and its answer awaited', async () => {
  cluster = new Cluster();
  vi.stubEnv('DROVER_REQUESTED_BY', 'mallory');
  const after = await ask().finally(() => vi.unstubAllEnvs());
  const { [ROLLOUT_REQUEST_ANNOTATION]: text = '', [ROLLOUT_REQUESTED_BY_ANNOTATION]: by } =
    after.metadata.annotations!;
  expect([JSON.parse(text), by]).toEqual([
    { id: expect.any(String) as string, action: 'pause', reason: 'lunch' },
    'ada',
  ]);
  expect(cluster.patches).toMatchObject([
    [{ metadata: { uid: 'u', resourceVersion: '1' } }, { dryRun: false, fieldManager: 'drover-requests' }],
  ]);
  expect(after.status!.rollout!.handledRequests).toHaveLength(1);
});

test('a dry run writes nothing', async () => {
  cluster = new Cluster();
  await ask('client');
  expect(cluster.patches).toEqual([]);
  await ask('server');
  expect(cluster.patches).toMatchObject([[{}, { dryRun: true }]]);
  expect(cluster.pool.metadata.annotations).toBeUndefined();
});

test('a refusal is a failure, with its reason', async () => {
  cluster = new Cluster();
  cluster.answer = { outcome: 'Refused', message: 'it is paused already, by bob' };
  await expect(ask()).rejects.toThrow(/^pool web was asked to pause, and does not: it is paused already, by bob$/);
});

/** Has what waits for ten seconds wait no longer. */
const late = (): void =>
  void vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => AbortSignal.abort(new Error('late')));

const resuming = (): Promise<Stored<Pool>> =>
  controlPool(cluster.session, cluster.pool, Rollout, resume, { dryRun: 'none' });

describe('a resume', () => {
  test('is refused without a request if nothing is paused', async () => {
    cluster = new Cluster();
    await expect(resuming()).rejects.toThrow(/nothing to resume$/);
    expect(cluster.patches).toEqual([]);
  });

  test('replaces a pause that no worker has answered in time', async () => {
    cluster = new Cluster();
    cluster.annotate({
      [ROLLOUT_REQUEST_ANNOTATION]: '{"id":"1","action":"pause"}',
      [ROLLOUT_REQUESTED_BY_ANNOTATION]: 'ada',
    });
    cluster.answer = null;
    late();
    await expect(resuming()).rejects.toThrow(/^pool web is asked to resume, but no worker has answered within 10 s/);
    expect(cluster.pool.metadata.annotations![ROLLOUT_REQUEST_ANNOTATION]).toContain('"resume"');
  });
});

describe('a request without a worker', () => {
  test('stands after Ctrl-C, which says so', async () => {
    cluster = new Cluster();
    cluster.answer = null;
    const timeout = new AbortController();
    vi.spyOn(AbortSignal, 'timeout').mockReturnValue(timeout.signal);
    const listeners = process.listeners('SIGINT');
    let written = '';
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      written += String(text);
      return true;
    });
    const asked = ask();
    await eventually(() => expect(process.listenerCount('SIGINT')).toBeGreaterThan(listeners.length));
    process.listeners('SIGINT')[0]!('SIGINT');
    timeout.abort(new Error('late'));
    await expect(asked).rejects.toThrow('no worker has answered within 10 s');
    expect(written).toBe(
      '\npool web is asked to pause, and no worker has answered yet; ' +
        '`kubectl annotate dpool web -n default drover.dev/rollout-request-` takes it back\n',
    );
    expect(process.listeners('SIGINT')).toEqual(listeners);
  });

  test('is reported with what becomes of it', async () => {
    cluster = new Cluster();
    late();
    await expect(ask()).rejects.toThrow(
      'pool web is asked to pause, but no worker has answered within 10 s: one does as soon as it runs; ' +
        '`kubectl annotate dpool web -n default drover.dev/rollout-request-` takes it back',
    );
    expect(cluster.pool.metadata.annotations![ROLLOUT_REQUEST_ANNOTATION]).toContain('"pause"');
  });

  test.each([
    ['bob', /^pool web was not asked to pause: no worker has answered what bob asked before; `kubectl annotate/, 0],
    ['ada', /^pool web is asked to pause, but no worker/, 1],
  ])(
    'a request of %s stays until it is answered, unless it is late and its author asks for something else',
    async (by, words, writes) => {
      cluster = new Cluster();
      cluster.annotate({
        [ROLLOUT_REQUEST_ANNOTATION]: '{"id":"1","action":"abort","revision":"x"}',
        [ROLLOUT_REQUESTED_BY_ANNOTATION]: by,
      });
      late();
      await expect(ask()).rejects.toThrow(words);
      expect(cluster.patches).toHaveLength(writes);
    },
  );
});

test.each(['bob', 'ada'])('a request at once with one of %s waits for the answer to that', async (by) => {
  cluster = new Cluster();
  cluster.before = () =>
    void cluster.annotate({
      [ROLLOUT_REQUEST_ANNOTATION]: '{"id":"1","action":"pause"}',
      [ROLLOUT_REQUESTED_BY_ANNOTATION]: by,
    });
  const after = await ask();
  expect(cluster.patches).toHaveLength(2);
  expect(after.status!.rollout!.handledRequests).toHaveLength(2);
});

test('a user whose request is replaced or taken back before a worker saw it is told so', async () => {
  for (const [annotations, words] of [
    [
      { [ROLLOUT_REQUEST_ANNOTATION]: '{"id":"bob-1","action":"pause"}', [ROLLOUT_REQUESTED_BY_ANNOTATION]: 'bob' },
      /^pool web was asked to pause, but a request of bob has replaced it before a worker saw it$/,
    ],
    [{ [ROLLOUT_REQUEST_ANNOTATION]: null }, /but it was withdrawn before/],
  ] as const) {
    cluster = new Cluster();
    cluster.answer = null;
    const asking = ask();
    await eventually(() => expect(cluster.pool.metadata.annotations).toBeDefined());
    cluster.annotate(annotations);
    await expect(asking).rejects.toThrow(words);
  }
});
