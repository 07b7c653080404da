import { expect, test } from 'vitest';
import { lookForNotices, type NoticeSource } from '../../../activities/notifications/find-notices.ts';
import type { Receiver } from '../../../api/notifications/receivers.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { aPool } from '../../decisions/fixtures/fleets.ts';

const NOW = Date.UTC(2026, 0, 2);
const RECENTLY = new Date(NOW - 60_000).toISOString();

const stalled = (name: string, namespace = 'shop', since = RECENTLY): StoredPool => {
  const pool = aPool({}, { name, namespace, uid: `uid-of-${name}` });
  const condition = { type: 'Stalled', status: 'True', reason: 'InvalidTemplate', message: 'it is' } as const;
  return { ...pool, status: { replicas: 0, conditions: [{ ...condition, lastTransitionTime: since }] } };
};

const givenUp = (at: string): StoredPool => ({
  ...aPool(),
  status: {
    replicas: 0,
    healing: { cycles: [], finished: [{ vm: 'web-1', uid: '', attempts: 1, end: 'GivenUp', message: 'given up', at }] },
  },
});

const source = (pools: StoredPool[], left: string[] = []): NoticeSource =>
  ({
    pools: new Map(pools.map((pool) => [pool.metadata.name, pool])),
    replicaSets: new Map(),
    vmiSets: new Map(),
    operations: new Map(),
    isDelegated: (namespace: string) => left.includes(namespace),
  }) as unknown as NoticeSource;

const receiver = (name: string, more: Partial<Receiver> = {}): Receiver => ({
  name,
  url: 'https://ops.example',
  secrets: [],
  batch: false,
  ...more,
});

const nothing = { keys: [], receivers: [], capacity: 100 };

test('ids are the same whoever looks, and others for another time, another pool and another type', () => {
  const idsOf = (...pools: StoredPool[]): string[] =>
    lookForNotices(source(pools), [receiver('ops')], nothing, NOW).began.map(({ id }) => id);
  expect(idsOf(stalled('web'))).toEqual(idsOf(stalled('web')));
  const ids = [
    ...idsOf(stalled('web')),
    ...idsOf(stalled('api')),
    ...idsOf(stalled('web', 'shop', new Date(NOW - 120_000).toISOString())),
    ...idsOf(givenUp(RECENTLY)),
  ];
  expect(new Set(ids).size).toBe(4);
});

test('receivers hear of the types and namespaces that they ask for', () => {
  const receivers = [
    receiver('all'),
    receiver('shops', { namespaces: ['shop-*'] }),
    receiver('rollouts', { types: ['dev.drover.rollout.*'] }),
    receiver('stalled', { types: ['*.stalled'], namespaces: ['bank'] }),
  ];
  const pools = [stalled('web', 'shop-1'), stalled('api', 'bank')];
  const { began } = lookForNotices(source(pools), receivers, nothing, NOW);
  expect(began.map(({ about, to }) => [about.name, to])).toEqual([
    ['web', ['all', 'shops']],
    ['api', ['all', 'stalled']],
  ]);
  expect(lookForNotices(source(pools), [], nothing, NOW).began).toEqual([]);
});

test('a known notice is not found again, except for new receivers, and a notice that no longer holds is named', () => {
  const ops = receiver('ops');
  const pools = [stalled('api'), givenUp(RECENTLY)];
  const first = lookForNotices(source(pools), [ops], nothing, NOW);
  const keys = first.began.map(({ key }) => key);
  const known = { keys, receivers: first.receivers, capacity: 100 };
  expect(lookForNotices(source(pools), [ops], known, NOW)).toMatchObject({ began: [], again: [], ended: [] });
  const { began, again } = lookForNotices(source(pools), [ops, receiver('pager')], known, NOW);
  // What has happened before there was a receiver is not told to it.
  expect([began, again.map(({ type, to }) => [type, to])]).toEqual([[], [['dev.drover.owner.stalled', ['pager']]]]);
  expect(lookForNotices(source([]), [ops], known, NOW).ended.toSorted()).toEqual(keys.toSorted());
});

test('an event of more than a day ago is not told, but a state that has lasted that long is', () => {
  const old = new Date(NOW - 25 * 3_600_000).toISOString();
  const { began } = lookForNotices(
    source([stalled('api', 'shop', old), givenUp(old)]),
    [receiver('ops')],
    nothing,
    NOW,
  );
  expect(began.map(({ about }) => about.name)).toEqual(['api']);
});

test('namespaces that are left to others are theirs to tell', () => {
  const { began } = lookForNotices(source([stalled('web')], ['shop']), [receiver('ops')], nothing, NOW);
  expect(began).toEqual([]);
});

test('a look finds as many notices as there is room for, the oldest first', () => {
  const pools = [1, 3, 2].map((n) => stalled(`web-${n}`, 'shop', new Date(NOW - 3_600_000 + n * 1_000).toISOString()));
  const { began, more } = lookForNotices(source(pools), [receiver('ops')], { ...nothing, capacity: 2 }, NOW);
  expect([began.map(({ about }) => about.name), more]).toEqual([['web-1', 'web-2'], true]);
});

/** How many notices are found of a pool that has been stalled for so long. */
const foundAfter = (ms: number): number => {
  const pool = stalled('web', 'shop', new Date(NOW - ms).toISOString());
  return lookForNotices(source([pool]), [receiver('ops')], nothing, NOW).began.length;
};

test('a state that has to last is not found earlier', () => {
  expect(foundAfter(59_000)).toBe(0);
  expect(foundAfter(60_000)).toBe(1);
});
