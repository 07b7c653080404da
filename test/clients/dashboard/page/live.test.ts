import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { VmCell } from '../../../../clients/dashboard/contract/fleet.ts';
import type { Delta } from '../../../../clients/dashboard/contract/messages.ts';
import { Fleet } from '../../../../clients/dashboard/page/live/fleet.ts';
import { liveState, News } from '../../../../clients/dashboard/page/pure/news.ts';
import { aCard, asMessages, cellsOf } from './fixture/fleets.ts';

const WEB = 'pool/default/web';
/** All that a tab is told of a pool with these VMs. */
const wholeOf = (cells: VmCell[], cards = [aCard('web', cells)]): Delta =>
  asMessages(cards.map((card) => [card, cells] as const))[1] as Delta;
const aDelta = (changed: Partial<Delta>): Delta => ({ type: 'delta', isSynced: true, ...changed });
const namesIn = (fleet: Fleet): string[] => fleet.cellsOf(WEB).map(([name]) => name);

function aFleetOf(cells: VmCell[]): Fleet {
  const fleet = new Fleet();
  fleet.receive(wholeOf(cells));
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
    fleet.receive(aDelta({ cells: { [WEB]: { set: [['web-9', 'S', 0]], gone: ['api'] } } }));
    expect(namesIn(fleet)).toEqual(['web-2', 'web-9', 'web-10']);
  });

  test('has cards by namespace and name, those of VMs of no owner last, however they come and go', () => {
    const lone = aCard('', [], { id: 'none/default', kind: null });
    const fleet = new Fleet();
    fleet.receive(wholeOf([], [lone, aCard('web', []), aCard('api', [])]));
    const ids = (): string[] => fleet.cards.map(({ id }) => id);
    expect(ids()).toEqual(['pool/default/api', WEB, 'none/default']);
    const added = aCard('db', [], { namespace: 'data' });
    fleet.receive(aDelta({ cards: { set: [added], gone: ['pool/default/api'] } }));
    expect(ids()).toEqual(['pool/data/db', WEB, 'none/default']);
    fleet.receive(aDelta({ cards: { set: [aCard('web', [], { ready: 7 })] } }));
    expect(fleet.cards[1]).toMatchObject({ id: WEB, ready: 7 });
  });

  test('is the same after any changes as if all of what they lead to came at once', () => {
    const change = fc.record({
      set: fc.array(fc.tuple(fc.integer({ min: 1, max: 20 }), fc.constantFrom('R' as const, 'D' as const))),
      gone: fc.array(fc.integer({ min: 1, max: 20 })),
    });
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const fleet = aFleetOf(cellsOf('web', 'RRRRR'));
        const known = new Map(cellsOf('web', 'RRRRR').map((cell) => [cell[0], cell]));
        for (const { set, gone } of changes) {
          const cells = set.map(([number, state]): VmCell => [`web-${number}`, state, 0]);
          const left = gone.map((number) => `web-${number}`).filter((name) => cells.every((cell) => cell[0] !== name));
          for (const cell of cells) known.set(cell[0], cell);
          for (const name of left) known.delete(name);
          fleet.receive(aDelta({ cells: { [WEB]: { set: cells, gone: left } } }));
        }
        expect(fleet.cellsOf(WEB)).toEqual(aFleetOf([...known.values()]).cellsOf(WEB));
      }),
    );
  });

  test('is what came last as a whole, and a view knows that it has yet to draw it', () => {
    const fleet = aFleetOf(cellsOf('web', 'RRR'));
    const drawn = fleet.versionOf(WEB);
    fleet.receive({ ...wholeOf(cellsOf('web', 'DD')), isSynced: false });
    expect(fleet.cellsOf(WEB)).toEqual(cellsOf('web', 'DD'));
    expect(fleet.versionOf(WEB)).not.toBe(drawn);
    expect(fleet.isSynced).toBe(false);
  });

  test('forgets what a new whole does not have, and the VMs of a card that is gone', () => {
    const fleet = aFleetOf(cellsOf('web', 'RRR'));
    fleet.receive(wholeOf([]));
    fleet.receive(aDelta({}));
    expect(namesIn(fleet)).toEqual([]);
    fleet.receive(aDelta({ cells: { [WEB]: { set: cellsOf('web', 'R') } } }));
    fleet.receive(aDelta({ cards: { gone: [WEB] } }));
    expect({ names: namesIn(fleet), cards: fleet.items.cards.size }).toEqual({ names: [], cards: 0 });
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
