import { describe, expect, test } from 'vitest';
import { formatWhere, hiddenFrom, isHidden } from '../../../../clients/dashboard/page/pure/hidden.ts';
import { unknownSince } from '../../../../clients/dashboard/page/pure/news.ts';
import { aSession } from './fixture/fleets.ts';

const SINCE = '2026-01-01T00:00:00.000Z';
const live = {
  fleet: { isSynced: true, needs: { items: [] } },
  session: { state: 'live', since: SINCE },
  connection: { state: 'open', since: 7 },
  pausedAt: null,
} as const;

test('what needs a person is unknown from when the API server, the dashboard or the updates stopped', () => {
  expect(unknownSince(live)).toBeNull();
  expect(unknownSince({ ...live, fleet: { ...live.fleet, isSynced: false } })).toBeNull();
  for (const state of ['reconnecting', 'refused'] as const)
    expect(unknownSince({ ...live, session: { state, since: SINCE } })).toBe(Date.parse(SINCE));
  expect(unknownSince({ ...live, connection: { state: 'reconnecting', since: 7 } })).toBe(7);
  expect(unknownSince({ ...live, pausedAt: 9 })).toBe(9);
});

const unseen = (what: string, namespace: string | null, isForbidden = true) => ({
  what,
  namespace,
  message: '',
  isForbidden,
  since: null,
});

describe('what the user may not see', () => {
  test('is what there may be, and not what the API server does not serve', () => {
    const session = aSession({ unseen: [unseen('virtualmachines', null), unseen('nodes', null, false)] });
    const hidden = hiddenFrom(session);
    expect(hidden.map(({ what }) => what)).toEqual(['virtualmachines']);
    expect([isHidden(hidden, 'virtualmachines'), isHidden(hidden, 'nodes')]).toEqual([true, false]);
    expect(hiddenFrom(null)).toEqual([]);
  });

  test('is not what belongs to the whole cluster if the page is about single namespaces, which it names', () => {
    const all = [unseen('nodes', null), unseen('virtualmachinepools', 'shop'), unseen('virtualmachines', 'shop')];
    const hidden = hiddenFrom(aSession({ namespaces: ['shop', 'bank'], unseen: all }));
    expect(hidden).toHaveLength(2);
    expect(formatWhere(hidden)).toBe(' in shop');
    expect(formatWhere(hiddenFrom(aSession({ unseen: [unseen('nodes', null)] })))).toBe('');
  });
});
