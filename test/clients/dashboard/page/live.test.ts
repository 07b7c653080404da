import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { VmCell } from '../../../../clients/dashboard/contract/fleet.ts';
import type { Delta } from '../../../../clients/dashboard/contract/messages.ts';
import { Fleet } from '../../../../clients/dashboard/page/live/fleet.ts';
import { liveState, News } from '../../../../clients/dashboard/page/pure/news.ts';
import { aCard, asMessages, cellsOf } from './fixture/fleets.ts';

const WEB = 'pool/default/web';
const snapshotOf = (cells: VmCell[]) => asMessages([[aCard('web', cells), cells]]);
const namesIn = (fleet: Fleet): string[] => fleet.cellsOf(WEB).map(([name]) => name);

function aFleetOf(cells: VmCell[]): Fleet {
  const fleet = new Fleet();
  for (const message of snapshotOf(cells)) fleet.receive(message);
  return fleet;
}

describe('the fleet that a tab knows', () => {
  test('has VMs in the order of their numbers, however they come', () => {
    const fleet = aFleetOf([
      ['web-10', 'R', 0],
      ['web-2', 'R', 0],
      ['api', 'R', 0],
    ]);
    expect(namesIn(fleet)).toEqual(['api', 'web-2', 'web-10']);
    fleet.receive({ type: 'delta', seq: 2, cells: { [WEB]: { set: [['web-9', 'S', 0]], gone: ['api'] } } });
    expect(namesIn(fleet)).toEqual(['web-2', 'web-9', 'web-10']);
  });

  test('has cards by namespace and name, those of VMs of no owner last, however they come and go', () => {
    const lone = aCard('', [], { id: 'none/default', kind: null });
    const fleet = new Fleet();
    for (const message of asMessages([lone, aCard('web', []), aCard('api', [])].map((card) => [card, []] as const)))
      fleet.receive(message);
    const ids = (): string[] => fleet.cards.map(({ id }) => id);
    expect(ids()).toEqual(['pool/default/api', WEB, 'none/default']);
    const added = aCard('db', [], { namespace: 'data' });
    fleet.receive({ type: 'delta', seq: 2, cards: { set: [added], gone: ['pool/default/api'] } });
    expect(ids()).toEqual(['pool/data/db', WEB, 'none/default']);
    fleet.receive({ type: 'delta', seq: 3, cards: { set: [aCard('web', [], { ready: 7 })] } });
    expect(fleet.cards[1]).toMatchObject({ id: WEB, ready: 7 });
  });

  test('is the same after any changes as after a snapshot of what they lead to', () => {
    const change = fc.record({
      set: fc.array(fc.tuple(fc.integer({ min: 1, max: 20 }), fc.constantFrom('R' as const, 'D' as const))),
      gone: fc.array(fc.integer({ min: 1, max: 20 })),
    });
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const fleet = aFleetOf(cellsOf('web', 'RRRRR'));
        const known = new Map(cellsOf('web', 'RRRRR').map((cell) => [cell[0], cell]));
        for (const [index, { set, gone }] of changes.entries()) {
          const cells = set.map(([number, state]): VmCell => [`web-${number}`, state, 0]);
          const left = gone.map((number) => `web-${number}`).filter((name) => cells.every((cell) => cell[0] !== name));
          for (const cell of cells) known.set(cell[0], cell);
          for (const name of left) known.delete(name);
          fleet.receive({
            type: 'delta',
            seq: index + 2,
            cells: { [WEB]: { set: cells, gone: left } },
          } satisfies Delta);
        }
        expect(fleet.cellsOf(WEB)).toEqual(aFleetOf([...known.values()]).cellsOf(WEB));
      }),
    );
  });

  test('keeps the VMs of a card while a new snapshot comes in, and only the new ones afterwards', () => {
    const fleet = aFleetOf(cellsOf('web', 'RRR'));
    const [session, snapshot, cells, synced] = snapshotOf(cellsOf('web', 'DD'));
    for (const message of [session, snapshot]) fleet.receive(message!);
    expect({ names: namesIn(fleet), isSynced: fleet.isSynced }).toEqual({
      names: ['web-1', 'web-2', 'web-3'],
      isSynced: false,
    });
    for (const message of [cells, synced]) fleet.receive(message!);
    expect(fleet.cellsOf(WEB)).toEqual(cellsOf('web', 'DD'));
  });

  test('forgets VMs of which a new snapshot has none, and those of a card that is gone', () => {
    const fleet = aFleetOf(cellsOf('web', 'RRR'));
    for (const message of snapshotOf([])) fleet.receive(message);
    fleet.receive({ type: 'delta', seq: 2 });
    expect(namesIn(fleet)).toEqual([]);
    fleet.receive({ type: 'delta', seq: 3, cells: { [WEB]: { set: cellsOf('web', 'R') } } });
    fleet.receive({ type: 'delta', seq: 4, cards: { gone: [WEB] } });
    expect({ names: namesIn(fleet), cards: fleet.items.cards.size }).toEqual({ names: [], cards: 0 });
  });

  test('is told to a tab that comes later as it is', () => {
    const fleet = aFleetOf(cellsOf('web', 'R'.repeat(2500)));
    const later = new Fleet();
    for (const message of fleet.messages()) later.receive(message);
    expect(later.cellsOf(WEB)).toEqual(fleet.cellsOf(WEB));
    expect([...later.items.cards]).toEqual([...fleet.items.cards]);
    expect({ seq: later.seq, isSynced: later.isSynced }).toEqual({ seq: 1, isSynced: true });
  });
});

const known = {
  fleet: { isSynced: true, needs: { items: [] as { id: string; sentence: string }[] } },
  session: { state: 'live' as 'live' | 'reconnecting' | 'refused' },
  connection: { state: 'open' as 'open' | 'reconnecting' | 'connecting' | 'signed-out' },
  pausedAt: null as number | null,
};

test('what is shown is live only if the stream, the API server and all that may be listed are there', () => {
  expect(liveState(known)).toBe('live');
  expect(liveState({ ...known, fleet: { ...known.fleet, isSynced: false } })).toBe('loading');
  expect(liveState({ ...known, session: { state: 'reconnecting' } })).toBe('cut-off');
  expect(liveState({ ...known, session: { state: 'refused' } })).toBe('refused');
  expect(liveState({ ...known, connection: { state: 'reconnecting' } })).toBe('reconnecting');
  expect(liveState({ ...known, pausedAt: 1, connection: { state: 'reconnecting' } })).toBe('paused');
  expect(liveState({ ...known, pausedAt: 1, connection: { state: 'signed-out' } })).toBe('signed-out');
});

const withNeeds = (...ids: string[]) => ({
  ...known,
  fleet: { isSynced: true, needs: { items: ids.map((id) => ({ id, sentence: `need ${id}` })) } },
});

test('a screen reader is told what newly needs a person and how the page follows, and each only once', () => {
  const news = new News();
  expect(news.of(withNeeds('a'))).toBe('Live.');
  expect(news.of(withNeeds('a'))).toBeNull();
  expect(news.of(withNeeds('a', 'b', 'c'))).toBe('Needs a person: need b, and 1 more');
  expect(news.of(withNeeds('c'))).toBeNull();
  expect(news.of({ ...withNeeds('c'), connection: { state: 'reconnecting' } })).toContain('Reconnecting');
  expect(news.of({ ...withNeeds('c'), connection: { state: 'reconnecting' } })).toBeNull();
  expect(news.of(withNeeds('c'))).toBe('Live.');
});
