import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { VmCell } from '../../../../clients/dashboard/contract/fleet.ts';
import { cellName, movedTo, pageOf, rowsOf, segmentsOf } from '../../../../clients/dashboard/page/pure/rows.ts';
import { summaryOf } from '../../../../clients/dashboard/page/pure/summary.ts';
import { aCard, cellsOf } from './fixture/fleets.ts';

const OLD = { hash: 'old', number: 7, is: 'old' } as const;
const NEW = { hash: 'new', number: 8, is: 'new' } as const;
const UNDONE = { hash: 'undone', number: null, is: 'other' } as const;
const shapeOf = (rows: ReturnType<typeof rowsOf>) =>
  rows.map(({ label, cells, missing }) => ({ label, vms: cells.map(([name]) => name), missing }));

describe('the squares of a card', () => {
  test('are one row without a heading if its VMs have one revision, with empty places for VMs that are missing', () => {
    const cells = cellsOf('web', 'RS');
    expect(shapeOf(rowsOf(aCard('web', cells, { desired: 4 }), cells))).toEqual([
      { label: '', vms: ['web-1', 'web-2'], missing: 2 },
    ]);
  });

  test('are two rows while a rollout runs: the new revision, to which missing VMs belong, and the old one', () => {
    const cells = [...cellsOf('web', 'R'), ...cellsOf('web', 'RR', 1, 2)];
    const card = aCard('web', cells, { desired: 4, revisions: [NEW, OLD] });
    expect(shapeOf(rowsOf(card, cells))).toEqual([
      { label: 'new, revision 8', vms: ['web-1'], missing: 1 },
      { label: 'old, revision 7', vms: ['web-2', 'web-3'], missing: 0 },
    ]);
  });

  test('have the old row also once no VM is left in it, so that the card does not jump at the end', () => {
    const cells = cellsOf('web', 'RR');
    const card = aCard('web', cells, { revisions: [NEW, OLD] });
    expect(rowsOf(card, cells).map(({ label }) => label)).toEqual(['new, revision 8', 'old, revision 7']);
  });

  test('are of another revision, and not of an old one, while VMs have one that was undone, and of one row after', () => {
    const cells = [...cellsOf('web', 'R'), ...cellsOf('web', 'R', 1, 2)];
    const labels = [cells, cells.slice(0, 1)].map((some) =>
      rowsOf(aCard('web', some, { revisions: [NEW, UNDONE] }), some).map(({ label }) => label),
    );
    expect(labels).toEqual([['new, revision 8', 'other, undone'], ['']]);
  });

  test('show a VM of a revision that is not listed, extra VMs and standby VMs in rows of their own', () => {
    const cells: VmCell[] = [
      ['a', 'R', 0],
      ['b', 'R', -1],
      ['c', 'R', 0, 1],
      ['d', 'Y', 0, 2],
    ];
    const card = aCard('web', cells, { desired: 2, current: 2, standbyWanted: 2, revisions: [NEW, OLD] });
    expect(shapeOf(rowsOf(card, cells)).slice(2)).toEqual([
      { label: 'other', vms: ['b'], missing: 0 },
      { label: 'extra', vms: ['c'], missing: 0 },
      { label: 'standby', vms: ['d'], missing: 1 },
    ]);
  });

  test('show each VM once, whatever its revision and role', () => {
    const anyCells = fc.array(
      fc.tuple(
        fc.constantFrom('R' as const, 'D' as const),
        fc.integer({ min: -1, max: 4 }),
        fc.constantFrom(undefined, 1 as const, 2 as const),
      ),
    );
    fc.assert(
      fc.property(anyCells, fc.integer({ min: 1, max: 3 }), (some, revisions) => {
        const cells = some.map(([state, revision, role], index): VmCell =>
          role === undefined ? [`vm-${index}`, state, revision] : [`vm-${index}`, state, revision, role],
        );
        const card = aCard('web', cells, {
          revisions: Array.from({ length: revisions }, (_, index) => ({
            hash: `r${index}`,
            number: index,
            is: 'other' as const,
          })),
        });
        const shown = rowsOf(card, cells).flatMap((row) => row.cells);
        expect(shown.map(([name]) => name).toSorted()).toEqual(cells.map(([name]) => name).toSorted());
      }),
    );
  });

  test('are called by name and state', () => {
    expect(cellName(['web-3', 'S', 0])).toBe('web-3: starting');
    expect(cellName(['web-3', 'R', 0, 1])).toBe('web-3: ready, extra');
  });
});

describe('pages', () => {
  test('have each VM once, in its order, and no more than fit', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 12 }), (lengths, size) => {
        const rows = lengths.map((length, row) => ({
          id: `${row}`,
          label: '',
          missing: 0,
          cells: cellsOf(`row${row}`, 'R'.repeat(length)),
        }));
        const { pages } = pageOf(rows, 1, size);
        const shown = Array.from({ length: pages }, (_, index) => pageOf(rows, index + 1, size).rows);
        for (const page of shown) expect(page.flatMap((row) => row.cells).length).toBeLessThanOrEqual(size);
        expect(shown.flat().flatMap((row) => row.cells)).toEqual(rows.flatMap((row) => row.cells));
      }),
    );
  });

  test('beyond the last are the last', () => {
    const rows = [{ id: 'all', label: '', missing: 0, cells: cellsOf('web', 'RRR') }];
    expect(pageOf(rows, 9, 2).rows[0]?.cells.map(([name]) => name)).toEqual(['web-3']);
  });
});

const at = (key: string, from: number) => movedTo(key, from, { count: 5, columns: 2 });

describe('a key in a grid of 5 squares in lines of 2', () => {
  test('moves the focus by one, by a line, or to an end, and never out of the grid', () => {
    expect([at('ArrowRight', 0), at('ArrowDown', 0), at('ArrowUp', 3), at('Home', 3), at('End', 0)]).toEqual([
      1, 2, 1, 0, 4,
    ]);
    expect([at('ArrowLeft', 0), at('ArrowRight', 4), at('ArrowDown', 4), at('ArrowUp', 1)]).toEqual([0, 4, 4, 1]);
  });

  test('moves nothing if it is not one of these', () => expect(at('a', 0)).toBeNull());
});

test('a bar has what is well first and what is missing last, and nothing of which there is none', () => {
  const cells = cellsOf('web', 'FRRS');
  expect(segmentsOf(aCard('web', cells, { desired: 6 })).map(({ state, count }) => [state, count])).toEqual([
    ['R', 2],
    ['S', 1],
    ['F', 1],
    ['missing', 2],
  ]);
});

test('the sum of cards does not make up for VMs missing in one by a surplus in another', () => {
  const one = aCard('web', cellsOf('web', 'RR'), { desired: 4 });
  const other = aCard('db', cellsOf('db', 'RRR'), { desired: 1 });
  const halted = aCard('idle', cellsOf('idle', 'OO'));
  const { vms, ready, stopped, owners, total } = summaryOf([one, other, halted]);
  expect({ vms, ready, stopped, owners }).toEqual({ vms: 7, ready: 5, stopped: 2, owners: 3 });
  expect(segmentsOf(total).at(-1)).toMatchObject({ state: 'missing', count: 2 });
});
