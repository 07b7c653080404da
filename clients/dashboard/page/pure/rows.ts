import type { OwnerCard, Revision, VmCell, VmState } from '../../contract/fleet.ts';
import { STATES } from './labels.ts';

/** From so many VMs on, a card has a bar in place of squares, and its page has pages. */
export const MOST_SQUARES = 500;

/** A row of squares. */
export interface Row {
  id: string;
  /** What it is headed with; empty if there is only one. */
  label: string;
  cells: readonly VmCell[];
  /** Places for VMs that are wanted and do not exist. */
  missing: number;
}

const EXTRA = 1;
const STANDBY = 2;

/** How users know a revision: by its number, or else by its hash. */
export const revisionName = ({ number, hash }: Revision): string => (number === null ? hash : `revision ${number}`);

/**
 * The squares of a card: one row, or one for each revision while a rollout runs, the new one first; extra and standby
 * VMs in separate rows. `cells` are in the order of their names.
 */
export function rowsOf(card: OwnerCard, cells: readonly VmCell[]): Row[] {
  const replicas = cells.filter(([, , , role]) => role === undefined);
  const missing = Math.max(0, card.desired - card.current);
  const roleRows = [
    ...roleRow('extra', 'extra', cells, EXTRA, 0),
    ...roleRow('standby', 'standby', cells, STANDBY, card.standbyWanted),
  ];
  const [target, ...others] = card.revisions;
  const before = others
    .map((revision, index) => ({
      id: revision.hash,
      label: `${revision.is}, ${revisionName(revision)}`,
      cells: replicas.filter((cell) => cell[2] === index + 1),
      missing: 0,
    }))
    .filter(({ cells }, index) => cells.length > 0 || others[index]!.is === 'old');
  if (before.length === 0) {
    const label = roleRows.length === 0 ? '' : 'replicas';
    return [{ id: 'all', label, cells: replicas, missing }, ...roleRows];
  }
  const rest = replicas.filter(([, , revision]) => revision < 0 || revision > others.length);
  return [
    {
      id: target!.hash,
      label: `new, ${revisionName(target!)}`,
      cells: replicas.filter(([, , revision]) => revision === 0),
      missing,
    },
    ...before,
    ...(rest.length === 0 ? [] : [{ id: 'other', label: 'other', cells: rest, missing: 0 }]),
    ...roleRows,
  ];
}

function roleRow(id: string, label: string, cells: readonly VmCell[], role: 1 | 2, wanted: number): Row[] {
  const its = cells.filter((cell) => cell[3] === role);
  const missing = Math.max(0, wanted - its.length);
  return its.length + missing === 0 ? [] : [{ id, label, cells: its, missing }];
}

/** A part of a proportional bar. */
interface Segment {
  state: VmState | 'missing';
  label: string;
  count: number;
}

/** What a bar is made from. */
export type Counted = Pick<OwnerCard, 'counts' | 'desired' | 'current'>;

/** The parts of the bar of a card, what is well first. */
export function segmentsOf({ counts, desired, current }: Counted): Segment[] {
  const states = (Object.keys(STATES) as VmState[]).map((state) => ({
    state,
    label: STATES[state],
    count: counts[state] ?? 0,
  }));
  const missing: Segment = { state: 'missing', label: 'missing', count: Math.max(0, desired - current) };
  return [...states, missing].filter(({ count }) => count > 0);
}

/** One page of rows: which squares of each row are on it. Pages count from 1. */
export function pageOf(rows: readonly Row[], page: number, size = MOST_SQUARES): { rows: Row[]; pages: number } {
  const total = rows.reduce((sum, row) => sum + row.cells.length, 0);
  const pages = Math.max(1, Math.ceil(total / size));
  let from = (Math.min(Math.max(page, 1), pages) - 1) * size;
  let remaining = size;
  const shown = rows.map((row) => {
    const cells = row.cells.slice(from, from + remaining);
    from = Math.max(0, from - row.cells.length);
    remaining -= cells.length;
    return { ...row, cells, missing: pages === 1 ? row.missing : 0 };
  });
  return { rows: shown.filter(({ cells, missing }) => cells.length + missing > 0), pages };
}

/** What a square is called for users who cannot see it: `web-3: starting`. */
export const cellName = ([name, state, , role]: VmCell): string =>
  `${name}: ${STATES[state]}${role === EXTRA ? ', extra' : ''}`;

/** Where a key moves the focus in a grid of squares; null if it moves nothing. `columns` of them fill a line. */
export function movedTo(
  key: string,
  at: number,
  { count, columns }: { count: number; columns: number },
): number | null {
  const to: Record<string, number> = {
    ArrowRight: at + 1,
    ArrowLeft: at - 1,
    ArrowDown: at + columns,
    ArrowUp: at - columns,
    Home: 0,
    End: count - 1,
  };
  const next = to[key];
  if (next === undefined) return null;
  return next < 0 || next >= count ? at : next;
}
